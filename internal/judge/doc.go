// Package judge asks a decision model whether a criterion is met.
package judge
