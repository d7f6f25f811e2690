// Checks the log's heads and proofs with Go's own golang.org/x/mod/sumdb. Reads JSON cases, a line each, and prints a verdict
// for each: `good`, or why it is refused.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type testCase struct {
	Key         string // NAME+HINT+BASE64
	Head        string // signed notes
	Old         string
	Body        []byte // of the entry
	Index       int64
	Inclusion   []tlog.Hash
	Consistency []tlog.Hash
}

func open(text string, verifiers note.Verifiers) (size int64, root tlog.Hash, err error) {
	opened, err := note.Open([]byte(text), verifiers)
	if err != nil {
		return
	}
	var origin, hash string
	if _, err = fmt.Sscanf(opened.Text, "%s\n%d\n%s\n", &origin, &size, &hash); err == nil {
		root, err = tlog.ParseHash(hash)
	}
	return
}

func check(each testCase) error {
	verifier, err := note.NewVerifier(each.Key)
	if err != nil {
		return err
	}
	size, root, err := open(each.Head, note.VerifierList(verifier))
	if err != nil {
		return err
	}
	oldSize, oldRoot, err := open(each.Old, note.VerifierList(verifier))
	if err != nil {
		return err
	}
	if err := tlog.CheckRecord(each.Inclusion, size, root, each.Index, tlog.RecordHash(each.Body)); err != nil {
		return err
	}
	return tlog.CheckTree(each.Consistency, size, root, oldSize, oldRoot)
}

func main() {
	lines := bufio.NewReader(os.Stdin)
	for decoder := json.NewDecoder(lines); ; {
		var each testCase
		if decoder.Decode(&each) != nil {
			return
		}
		if err := check(each); err != nil {
			fmt.Printf("refused: %v\n", err)
		} else {
			fmt.Println("good")
		}
	}
}
