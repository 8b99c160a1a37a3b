package spec

import (
	"bytes"
	"strconv"
	"unicode/utf16"
)

// jsonToYAML rewrites the two escapes of JSON that the YAML parser does not
// have: \/, as PHP writes a slash, and a character beyond the basic plane in
// two halves, as Python and jq write an emoji. Most files have neither.
func jsonToYAML(data []byte) []byte {
	var out []byte
	done := 0
	for i := 0; i+1 < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		text, length := foreignEscape(data[i:])
		if length > 0 {
			out = append(append(out, data[done:i]...), text...)
			done = i + length
		}
		i += max(length, len(`\\`)) - 1
	}
	if done == 0 {
		return data
	}
	return append(out, data[done:]...)
}

// foreignEscape gives the text of an escape that YAML does not have, and its
// length; 0 for all others.
func foreignEscape(s []byte) (text string, length int) {
	if s[1] == '/' {
		return "/", len(`\/`)
	}
	const half = len(`\ud83d`)
	if len(s) < 2*half || !bytes.HasPrefix(s, []byte(`\u`)) || !bytes.HasPrefix(s[half:], []byte(`\u`)) {
		return "", 0
	}
	high, err1 := strconv.ParseUint(string(s[2:half]), 16, 16)
	low, err2 := strconv.ParseUint(string(s[half+2:2*half]), 16, 16)
	r := utf16.DecodeRune(rune(high), rune(low))
	if err1 != nil || err2 != nil || r == '\ufffd' {
		return "", 0
	}
	return string(r), 2 * half
}
