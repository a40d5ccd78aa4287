package judge_test

import "testing"

func TestRule16WordingIsMeasured(t *testing.T) { docSays(t, "The default wording") }
