package api

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// envAsk makes the test binary a client of the socket that it names.
const envAsk = "API_TEST_ASK"

func TestMain(m *testing.M) {
	if path := os.Getenv(envAsk); path != "" {
		_, err := NewClient(path).Controller(context.Background())
		fmt.Println(err)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
