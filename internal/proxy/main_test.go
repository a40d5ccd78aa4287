package proxy_test

import (
	"testing"

	"docket/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }
