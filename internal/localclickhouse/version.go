package localclickhouse

import (
	"fmt"
	"regexp"
	"strconv"
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

// versionForm takes "26.7.3" and longer forms such as "26.7.3.1-stable".
var versionForm = regexp.MustCompile(`^(\d{1,4})\.(\d{1,4})\.(\d{1,4})(?:[.-].*)?$`)

func parseVersion(s string) (version, error) {
	m := versionForm.FindStringSubmatch(s)
	if m == nil {
		return version{}, fmt.Errorf("version %q is not of the form 26.7.3", s)
	}
	var v version
	for i := range v {
		v[i], _ = strconv.Atoi(m[i+1]) // at most four digits
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
