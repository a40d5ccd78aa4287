package localclickhouse

import (
	"fmt"
	"strconv"
	"strings"
)

// version is the engine's release: year, month and patch.
type version [3]int

var minVersion = version{26, 7, 3}

func (v version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

func (v version) less(w version) bool {
	for i := range v {
		if v[i] != w[i] {
			return v[i] < w[i]
		}
	}
	return false
}

// parseVersion reads "26.7.3" and longer forms such as "26.7.3.1-stable".
func parseVersion(s string) (version, error) {
	var v version
	fields := strings.FieldsFunc(s, func(r rune) bool { return r == '.' || r == '-' })
	if len(fields) < len(v) {
		return v, fmt.Errorf("version %q is not of the form 26.7.3", s)
	}
	for i := range v {
		n, err := strconv.Atoi(fields[i])
		if err != nil || n < 0 {
			return v, fmt.Errorf("version %q is not of the form 26.7.3", s)
		}
		v[i] = n
	}
	return v, nil
}

// checkVersion refuses libraries that wipe the host's signal handlers when
// they are told to leave them alone, which every release before 26.7.3 does.
func checkVersion(s string) (version, error) {
	v, err := parseVersion(s)
	if err != nil {
		return v, err
	}
	if v.less(minVersion) {
		return v, fmt.Errorf("libchdb %s is too old: %s or later is needed", s, minVersion)
	}
	return v, nil
}
