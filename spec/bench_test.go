package spec

import (
	"fmt"
	"strings"
	"testing"
)

const smallManifest = `apiVersion: proc-controller.dev/v1alpha1
kind: MCPServer
metadata:
  name: files
  labels: {team: dev}
spec:
  command: [npx, -y, "@modelcontextprotocol/server-everything", streamableHttp]
  env:
    - {name: LOG_LEVEL, value: debug}
  ports: [{name: http, port: 0}]
  backoff: {initial: 0s}
  terminationGracePeriodSeconds: 2
`

func BenchmarkDecodeSmall(b *testing.B) {
	data := []byte(smallManifest)
	b.ReportAllocs()
	for b.Loop() {
		if d := Decode("files.yaml", data); d[0].Object == nil {
			b.Fatal(d[0].Findings)
		}
	}
}

func BenchmarkDecodeThousandInOneFile(b *testing.B) {
	var data []byte
	for i := range 1000 {
		data = fmt.Appendf(data, "---\n%s", strings.Replace(smallManifest, "name: files", fmt.Sprintf("name: files-%d", i), 1))
	}
	b.ReportAllocs()
	for b.Loop() {
		if d := Decode("files.yaml", data); len(d) != 1000 || d[999].Object == nil {
			b.Fatal(d[0].Findings)
		}
	}
}

func BenchmarkHashOf(b *testing.B) {
	o := sample(b)
	files := map[string][]byte{".env": []byte("A=1\nB=2\n"), "~/.secrets/token": []byte("s3cret")}
	b.ReportAllocs()
	for b.Loop() {
		HashOf(o, files)
	}
}

// environBlock is an environment of about 4 KiB, as a desktop session has it.
func environBlock(extra ...string) []byte {
	var block []byte
	for i := range 40 {
		block = fmt.Appendf(block, "PATH_OR_OTHER_%02d=%s\x00", i, strings.Repeat("/usr/local/bin:", 5))
	}
	for _, e := range extra {
		block = append(append(block, e...), 0)
	}
	return block
}

func BenchmarkParseMarkersStranger(b *testing.B) {
	block := environBlock()
	b.ReportAllocs()
	b.SetBytes(int64(len(block)))
	for b.Loop() {
		ParseMarkers(block)
	}
}

func BenchmarkParseMarkersOurs(b *testing.B) {
	block := environBlock(testMarkers.Environ()...)
	b.ReportAllocs()
	b.SetBytes(int64(len(block)))
	for b.Loop() {
		ParseMarkers(block)
	}
}

func BenchmarkEnviron(b *testing.B) {
	o := sample(b)
	in := EnvInputs{
		Inherit: strings.Split(strings.TrimSuffix(string(environBlock()), "\x00"), "\x00"),
		Files:   map[string][]byte{".env": []byte("A=1\nB=2\n"), "~/.secrets/token": []byte("s3cret")},
		Dir:     "/srv/files", Ports: NewPortMap(NamedPort{"http", 8123}), Markers: testMarkers,
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Environ(o, in); err != nil {
			b.Fatal(err)
		}
	}
}
