package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// results are the answers, by method.
var results = map[string]string{
	"initialize": `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}`,
	"ping":       `{}`,
	"tools/list": `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`,
	"tools/call": `{"content":[{"type":"text","text":"hello"}]}`,
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		if result, ok := results[m.Method]; ok {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
		} else {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}`+"\n", m.ID)
		}
	}
}
