package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestSystemdQuote(t *testing.T) {
	for in, want := range map[string]string{
		"/usr/bin/x":  "/usr/bin/x",
		"a b":         `"a b"`,
		`50%`:         `50%%`,
		`q"\`:         `"q\"\\"`,
		"":            `""`,
		"PATH=/a b:c": `"PATH=/a b:c"`,
	} {
		if got := systemdQuote(in); got != want {
			t.Errorf("systemdQuote(%q) = %s, want %s", in, got, want)
		}
	}
	unit := string(systemdUnit("/m", []string{"/bin/pc", "run", "--manifests", "/a $b"}, "/bin:/$x"))
	for _, want := range []string{`ExecStart=/bin/pc run --manifests "/a $$b"`, "Environment=PATH=/bin:/$x\n", "KillMode=process\n", "Delegate=yes\n"} {
		if !strings.Contains(unit, want) {
			t.Errorf("no %q in\n%s", want, unit)
		}
	}
}

func TestLaunchdPlistIsXML(t *testing.T) {
	plist := string(launchdPlist("dev.x", []string{"/bin/pc", "run", "--manifests", "/a & <b>"}, "/bin"))
	d := xml.NewDecoder(strings.NewReader(plist))
	var texts []string
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, plist)
		}
		if c, ok := token.(xml.CharData); ok && strings.TrimSpace(string(c)) != "" {
			texts = append(texts, string(c))
		}
	}
	if got := strings.Join(texts, "|"); !strings.Contains(got, "ProgramArguments|/bin/pc|run|--manifests|/a & <b>|") {
		t.Errorf("the plist says %s", got)
	}
}
