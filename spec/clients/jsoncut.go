package clients

import "bytes"

// cut takes an entry out, and what was made for it where nothing else is in that.
func (jsonText) cut(data []byte, way []string, name string, r *Record) ([]byte, error) {
	for {
		root, err := parseJSON(data)
		if err != nil {
			return nil, err
		}
		at := root.get(way...)
		i := at.index(name)
		c := r.container(way)
		empties := len(at.members) == 1
		if empties && c.Made && len(way) > 0 && onlyBlank(data, at, i) {
			delete(r.Containers, key(way))
			way, name = way[:len(way)-1], way[len(way)-1]
			continue
		}
		data = cutMember(data, at, i)
		if empties {
			data = cutTail(data, way, c.Tail)
			c.Tail = ""
		}
		return unstart(data, r), nil
	}
}

// onlyBlank says that there are no comments beside the only member of an object.
func onlyBlank(data []byte, at *node, i int) bool {
	m := at.members[i]
	return readGap(data, at.start+1, m.at).comments < 0 && readGap(data, m.value.end, at.end-1).comments < 0
}

// cutMember takes a member out, with the blanks before it and its comma: the one
// behind it, or else the one before it.
func cutMember(data []byte, at *node, i int) []byte {
	m := at.members[i]
	from := m.at - len(blankBefore(data, m.at))
	next := at.end - 1
	if i+1 < len(at.members) {
		next = at.members[i+1].at
	}
	behind := readGap(data, m.value.end, next)
	switch {
	case behind.comma >= 0:
		if len(bytes.TrimSpace(data[m.value.end:behind.comma])) > 0 {
			data = splice(data, behind.comma, behind.comma+1, "")
			return splice(data, keepLine(data, from, m.at, m.value.end), m.value.end, "")
		}
		return splice(data, keepLine(data, from, m.at, behind.comma+1), behind.comma+1, "")
	case i > 0:
		data = splice(data, keepLine(data, from, m.at, m.value.end), m.value.end, "")
		end := at.members[i-1].value.end
		if comma := readGap(data, end, from).comma; comma >= 0 {
			data = splice(data, comma, comma+1, "")
		}
		return data
	}
	return splice(data, keepLine(data, from, m.at, m.value.end), m.value.end, "")
}

// keepLine is where a cut may begin: not at the end of a line comment, unless what
// follows begins with a new line.
func keepLine(data []byte, from, at, end int) int {
	line := data[bytes.LastIndexByte(data[:from], '\n')+1 : from]
	rest := bytes.TrimLeft(data[end:], " \t\r")
	if bytes.Contains(line, []byte("//")) && !bytes.HasPrefix(rest, []byte("\n")) {
		return at
	}
	return from
}

// cutTail takes out what was put before the brace of an object that is empty again.
func cutTail(data []byte, way []string, tail string) []byte {
	root, err := parseJSON(data)
	if err != nil || tail == "" {
		return data
	}
	at := root.get(way...)
	from := max(at.start+1, readGap(data, at.start+1, at.end-1).comments)
	if len(at.members) == 0 && bytes.HasPrefix(data[from:at.end-1], []byte(tail)) {
		return splice(data, from, from+len(tail), "")
	}
	return data
}

// unstart takes out what a blank file was given to begin with.
func unstart(data []byte, r *Record) []byte {
	if rest, ok := bytes.CutSuffix(data, []byte(r.Start)); ok && r.Start != "" && len(bytes.TrimSpace(rest)) == 0 {
		r.Start = ""
		return rest
	}
	return data
}
