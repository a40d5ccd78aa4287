package quality

import (
	"fmt"
	"math"
	"strconv"
)

// Figure is a statistic. NaN says that it is not defined for this data.
type Figure float64

// undefined is the figure that does not exist.
func undefined() Figure { return Figure(math.NaN()) }

// Defined says whether there is a number.
func (f Figure) Defined() bool { return !math.IsNaN(float64(f)) && !math.IsInf(float64(f), 0) }

// String prints three decimals, or "-".
func (f Figure) String() string {
	if !f.Defined() {
		return "-"
	}
	if s := fmt.Sprintf("%.3f", float64(f)); s != "-0.000" {
		return s
	}
	return "0.000"
}

// MarshalJSON writes the number, or null.
func (f Figure) MarshalJSON() ([]byte, error) {
	if !f.Defined() {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(f), 'g', -1, 64), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (f *Figure) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*f = undefined()
		return nil
	}
	v, err := strconv.ParseFloat(string(data), 64)
	if err != nil {
		return fmt.Errorf("figure %s: want a number or null", data)
	}
	*f = Figure(v)
	return nil
}

// ratio is a/b, undefined when b is 0.
func ratio(a, b int) Figure {
	if b == 0 {
		return undefined()
	}
	return Figure(float64(a) / float64(b))
}
