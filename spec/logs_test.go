package spec

import "testing"

func TestLogBounds(t *testing.T) {
	for _, tc := range []struct {
		logs Logs
		want LogBounds
	}{
		{Logs{}, LogBounds{10 << 20, 3}},
		{Logs{MaxBytes: "1Mi"}, LogBounds{1 << 20, 3}},
		{Logs{MaxBytes: "65536", Keep: new(int32(0))}, LogBounds{65536, 0}},
	} {
		if got := tc.logs.Bounds(); got != tc.want {
			t.Errorf("%+v is %+v, not %+v", tc.logs, got, tc.want)
		}
	}
}
