package localclickhouse

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"
)

// Options say what an embedded engine may use. Zero values mean the defaults
// of DefaultOptions, except for Data, Library and Password, which must be set.
type Options struct {
	Data     string // folder of the engine, its lock and nothing else
	Library  string // path of libchdb, from FindLibrary
	Password string // of the user "default"

	Memory       int64         // bytes the engine may allocate
	Threads      int           // of one statement
	Readers      int           // statements other than inserts that run at once
	Writers      int           // inserts that run at once
	MaxBody      int64         // bytes of one request body, unpacked
	QueryTimeout time.Duration // longest statement, unless it sets max_execution_time
	Fsync        bool          // inserts are answered when they are on the disk
	Grace        time.Duration // how long Close lets running statements finish

	Log *slog.Logger // nil: none
}

// DefaultOptions fit a machine that also runs other things.
func DefaultOptions() Options {
	return Options{
		Memory:       2 << 30,
		Threads:      max(1, runtime.NumCPU()/2),
		Readers:      8,
		Writers:      4,
		MaxBody:      512 << 20,
		QueryTimeout: 10 * time.Minute,
		Grace:        3 * time.Second,
		Log:          slog.New(slog.DiscardHandler),
	}
}

// withDefaults fills what is zero.
func (o Options) withDefaults() Options {
	d := DefaultOptions()
	setDefault(&o.Memory, d.Memory)
	setDefault(&o.Threads, d.Threads)
	setDefault(&o.Readers, d.Readers)
	setDefault(&o.Writers, d.Writers)
	setDefault(&o.MaxBody, d.MaxBody)
	setDefault(&o.QueryTimeout, d.QueryTimeout)
	setDefault(&o.Grace, d.Grace)
	setDefault(&o.Log, d.Log)
	return o
}

func setDefault[T comparable](v *T, to T) {
	var zero T
	if *v == zero {
		*v = to
	}
}

// minMemory is what the engine needs to start and merge small parts.
const minMemory = 256 << 20

func (o Options) validate() error {
	switch {
	case o.Data == "":
		return errors.New("data: a folder is needed")
	case o.Library == "":
		return errors.New("library: the path of libchdb is needed")
	case o.Password == "":
		return errors.New("password: one is needed")
	case o.Memory < minMemory:
		return fmt.Errorf("memory: %d bytes are too few, at least %d (256MiB) are needed", o.Memory, int64(minMemory))
	case o.Threads < 1 || o.Threads > 256:
		return fmt.Errorf("threads: %d is not in 1 to 256", o.Threads)
	case o.Readers < 1 || o.Writers < 1:
		return fmt.Errorf("readers and writers: %d and %d, at least 1 each is needed", o.Readers, o.Writers)
	case o.MaxBody < 1<<20:
		return fmt.Errorf("max body: %d bytes are too few, at least 1 MiB is needed", o.MaxBody)
	case o.QueryTimeout < 0 || o.Grace < 0:
		return errors.New("query timeout and grace: must not be negative")
	}
	return nil
}

// enginePath is where the engine keeps its own files.
func (o Options) enginePath() string { return filepath.Join(o.Data, "engine") }

// configPath holds what the engine takes from a file only.
func (o Options) configPath() string { return filepath.Join(o.Data, "engine.xml") }

const fsyncConfig = `<clickhouse>
    <merge_tree>
        <fsync_after_insert>1</fsync_after_insert>
        <fsync_part_directory>1</fsync_part_directory>
    </merge_tree>
</clickhouse>
`

// writeConfig writes the file that bootArgs name.
func (o Options) writeConfig() error {
	if !o.Fsync {
		return nil
	}
	if err := os.WriteFile(o.configPath(), []byte(fsyncConfig), 0o600); err != nil {
		return fmt.Errorf("write the engine's settings: %w", err)
	}
	return nil
}

// bootArgs configure the engine as a whole. The ceilings of its caches add up
// to many gigabytes by default; here each may take a sixteenth of the memory.
func (o Options) bootArgs() []string {
	cache := strconv.FormatInt(min(o.Memory/16, 128<<20), 10)
	args := []string{
		"--path=" + o.enginePath(),
		"--max_server_memory_usage=" + strconv.FormatInt(o.Memory, 10),
		"--max_thread_pool_size=" + strconv.Itoa(96+8*o.Threads),
	}
	for _, name := range []string{
		"mark_cache_size", "primary_index_cache_size", "index_mark_cache_size", "query_condition_cache_size",
		"text_index_tokens_cache_size", "text_index_header_cache_size", "text_index_postings_cache_size",
		"vector_similarity_index_cache_size", "parquet_metadata_cache_size", "iceberg_metadata_files_cache_size",
	} {
		args = append(args, "--"+name+"="+cache)
	}
	if o.Fsync {
		args = append(args, "--config-file="+o.configPath())
	}
	return args
}

// sessionArgs are the settings that every statement starts with. The engine's
// own differ from a server's in a few, which are put back; an insert is in its
// table when it is answered.
func (o Options) sessionArgs() []string {
	return []string{
		"--implicit_select=0",
		"--async_insert=0",
		"--allow_introspection_functions=0",
		"--session_timezone=UTC",
		"--max_threads=" + strconv.Itoa(o.Threads),
		"--max_memory_usage=" + strconv.FormatInt(o.Memory/10*7, 10),
		"--max_execution_time=" + strconv.FormatInt(int64(o.QueryTimeout/time.Second), 10),
	}
}
