package spec

import "bytes"

// chunk is the bytes of one YAML document of a file.
type chunk struct {
	data []byte
	// at is where it begins in the file.
	at int
	// before is the number of lines of the file before the chunk.
	before int
}

// Extent is where a document lies in the bytes of its file: from its "---", where
// it has one, up to the next document or a "...".
type Extent struct{ Start, End int }

// Extents gives the place of each document that Decode finds in a file, in the
// same order; none where something is wrong with the file as a whole.
func Extents(data []byte) []Extent {
	text := bytes.TrimPrefix(data, byteOrderMark)
	if _, bad := unfit("", text); bad {
		return nil
	}
	var extents []Extent
	mark := len(data) - len(text)
	for _, c := range split(text) {
		extents = append(extents, Extent{mark + c.at, mark + c.at + len(c.data)})
	}
	return extents
}

// split cuts a file into its documents. A line that begins with "---" or "..."
// divides documents wherever it stands: YAML allows neither inside a quoted or
// block text (YAML 1.2.2, 9.1.2). That is why a syntax error in one document
// can leave the others alone.
//
// What is nothing but comments is a document only after a "---".
func split(data []byte) []chunk {
	var chunks []chunk
	var start, startLine int
	announced := false
	flush := func(end int) {
		if announced || !blank(data[start:end]) {
			chunks = append(chunks, chunk{data: data[start:end], at: start, before: startLine})
		}
	}
	for pos, line := 0, 0; pos < len(data); line++ {
		next := len(data)
		if i := bytes.IndexByte(data[pos:], '\n'); i >= 0 {
			next = pos + i + 1
		}
		switch {
		case divides(data[pos:next], "---"):
			flush(pos)
			start, startLine, announced = pos, line, true
		case divides(data[pos:next], "..."):
			flush(pos)
			start, startLine, announced = next, line+1, false
		}
		pos = next
	}
	flush(len(data))
	return chunks
}

// divides says that a line is the given marker, alone or followed by a blank.
func divides(line []byte, marker string) bool {
	if len(line) < len(marker) || string(line[:len(marker)]) != marker {
		return false
	}
	rest := line[len(marker):]
	return len(rest) == 0 || rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r' || rest[0] == '\n'
}

// blank says that there are only blanks, comments and %YAML directives.
func blank(data []byte) bool {
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && line[0] != '%' {
			return false
		}
	}
	return true
}
