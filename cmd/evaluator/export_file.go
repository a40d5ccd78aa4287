package main

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// linesFile is what an export writes to: a file that appears under its name only
// when it is whole, or a stream.
type linesFile struct {
	io.Writer
	path   string
	file   *os.File // nil for a stream
	buffer *bufio.Writer
	zip    *gzip.Writer // nil when it is not compressed
}

// createLines opens the file, for its owner alone; - is the stream.
func createLines(path string, stream io.Writer) (*linesFile, error) {
	l := &linesFile{path: path}
	if path != "-" {
		file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
		if err != nil {
			return nil, err
		}
		l.file, stream = file, file
	}
	l.buffer = bufio.NewWriterSize(stream, 1<<20)
	l.Writer = l.buffer
	if strings.HasSuffix(path, ".gz") {
		l.zip = gzip.NewWriter(l.buffer)
		l.Writer = l.zip
	}
	return l, nil
}

// finish makes what was written durable and gives the file its name.
func (l *linesFile) finish() error {
	if l.zip != nil {
		if err := l.zip.Close(); err != nil {
			return err
		}
	}
	if err := l.buffer.Flush(); err != nil || l.file == nil {
		return err
	}
	file := l.file
	l.file = nil
	err := errors.Join(file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), l.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// abandon removes a file that was not finished.
func (l *linesFile) abandon() {
	if l.file == nil {
		return
	}
	_ = l.file.Close()
	_ = os.Remove(l.file.Name())
	l.file = nil
}
