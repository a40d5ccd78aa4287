// Package price holds dated model prices and turns usage into cost.
//
// A cost is nil when it is not known: no usage, a model without a price, a price
// that did not hold yet at that time, or tokens of a kind whose price is not
// known. It is never a guess, and never zero by default.
//
// The built-in table is small on purpose: list prices of the standard tier that
// can be traced to their source, which is named in prices.csv. It knows neither
// discounts nor batch, flex or priority tiers. Settings add to it and replace it,
// model by model. The version that comes with each cost names the table that was
// used, so that costs of different tables can be told apart.
//
// Amounts are whole nano-USD; prices are kept in pico-USD per token, which is
// exact for every price with up to six decimals per million tokens.
package price
