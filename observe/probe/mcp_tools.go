package probe

import (
	"encoding/json"
	"errors"

	"github.com/proc-controller/proc-controller/mcp/rpc"
)

// maxToolPages bounds how many pages of tools are asked for.
const maxToolPages = 100

// countTools counts the tools of a server, page by page. A server that does not
// know the method has none.
func countTools(request func(params map[string]any) (json.RawMessage, error)) (n int, err error) {
	var params map[string]any
	for range maxToolPages {
		result, err := request(params)
		var r *rpc.Error
		if errors.As(err, &r) && r.Code == rpc.CodeMethodNotFound {
			return n, nil
		}
		if err != nil {
			return 0, err
		}
		var page struct {
			Tools      []json.RawMessage `json:"tools"`
			NextCursor string            `json:"nextCursor"`
		}
		if err := json.Unmarshal(result, &page); err != nil {
			return 0, failuref("%s: the result does not fit: %s", methodTools, jsonTrouble(err, result))
		}
		n += len(page.Tools)
		if page.NextCursor == "" {
			return n, nil
		}
		params = map[string]any{"cursor": page.NextCursor}
	}
	return 0, failuref("%s does not end: it has more than %d pages", methodTools, maxToolPages)
}
