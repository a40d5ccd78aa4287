// Package spool is a bounded, crash-safe disk queue of opaque records.
//
// # Guarantees
//
//   - A record whose Append returned nil survives the death of the process at
//     any moment; with sync: always also that of the machine. Otherwise a power
//     cut takes at most what came in the last fsync_interval.
//   - Append returns within max_wait (sync: interval), whatever the disk does.
//     A record that was not written by then is copied into bounded memory and
//     written in its turn; if it is lost after all, Options.OnLost is told.
//   - Records are read in the order in which they were written, which is the
//     order of any appends of which one returned before the other began.
//   - A position is never used for two records: every Open starts a new
//     segment, and a segment is in its folder for good before the first record
//     goes into it. So a batch of records can be named by its positions.
//   - A damaged record is reported once, as CorruptError, and costs only itself.
//     Reading always ends: after bytes that do not check it goes on at the next
//     frame that does, in this segment or the next.
//   - Segments never take more than max_bytes, plus 64 KiB for AppendReserved.
//
// # Limits
//
// Linux and other Unix systems. One process owns a folder (flock). Records are
// neither compressed nor encrypted; folders are 0700, files 0600. The largest
// record is a segment. Room is freed by whole segments: a delivered record is
// gone when its segment is full or as old as segment_age, and all of it is
// delivered. After a failed write
// with sync: always a record may be there although its Append failed. Close
// waits for a disk that stalls.
//
// # Folder
//
//	00000000000000000001.seg  records, see frame.go
//	acked                     the two positions of Ack
//	identity                  the random id, and the seed of the checksums
//	lock                      held by the owner; holds its process id
//	meta/, quarantine/        files of SaveMeta and Quarantine
//
// # Who writes
//
// The goroutine that is in a write call cannot be called back, so a caller
// that may wait only max_wait must not write itself: one writer goroutine does.
// It takes all records that came during its last write and writes them at
// once. Before it takes them it yields to the goroutines that are ready to run,
// most of which are about to append, too. Small records are copied into the
// batch. Large ones stay in the memory of their caller, who is waiting, and the
// writer copies them through 256 KiB of its own: a write call never reads what
// a caller may use again. If such a caller has to go on, the record is copied
// then, and the writer goes on with that copy. (Writing straight from the
// caller's memory was rejected: the call in flight cannot be told that he left,
// so it would put other bytes on disk, unmasked ones too.)
//
// Measured on 2 cores, 2 KB records, zero-filled segment, CPU time of the
// process per append (and records per write call):
//
//	                                  1 caller     32 callers   32 callers that work
//	                                                            17.5 µs in between
//	caller writes, under a mutex      1.6 µs (1)   1.8 µs (1)   1.6 µs (1)
//	writer goroutine                  2.9 µs (1)   1.5 µs (3)   2.6 µs (1)
//	writer goroutine that yields      2.7 µs (1)   0.7 µs (16)  0.4 µs (14)
//
// A single caller on an otherwise idle machine pays for waking another core
// (13 µs); that is when there is CPU to spare. With checksums, accounting,
// fsync and preparing of segments, at the disk's full speed, Append as it is
// here takes 3.8 µs CPU from 1 caller and 2.4 µs from 32 (0.6 and 0.8 GB/s are
// written then).
//
// One pwritev for header and parts of a 1 MB record instead of a call each made
// no difference (47 to 72 µs both).
//
// # A full disk
//
// The spool opens on a disk without a byte left, and delivers what it holds: a
// vacant segment stands in for the one that could not be made, and a ballast of
// 1 MiB is given up for the small files that delivery must write (see full.go).
// While it is gone, records are refused. An active segment is given up as soon
// as all of it is delivered, so that its room comes back.
//
// # How it reaches the disk
//
// Extending a file takes the file system's journal, and so does forcing that to
// disk: appends can wait for it. Therefore a segment is filled with zeros before
// it is used, by a goroutine of its own while the one before is half full, and
// another goroutine calls fdatasync, which then has only data to write. One
// writer at 4,000 appends a second, 2 KB, sync every 100 ms, median and longest
// append on an idle disk, and longest beside a process that writes and syncs
// files without pause (ext4):
//
//	growing file, fsync           2.7 µs   0.2 ms   1.4 ms
//	growing file, fdatasync       2.7 µs   0.1 ms   1.7 ms
//	fallocate, fdatasync          2.3 µs   0.2 ms   3.2 ms
//	zero-filled, fdatasync        1.4 µs   0.2 ms   0.3 ms
//	zero-filled, sync_file_range  1.4 µs   0.2 ms   9.3 ms
//
// Filling costs 22 ms CPU for 64 MiB, 0.7 µs for a 2 KB record. With one record
// per write call that comes back in cheaper writes; with sixteen it does not
// (2.4 µs against 1.8), and the shorter waits are preferred. A segment that
// cannot be filled (quota, free space, a burst that is faster than the filling)
// just grows. Reusing acknowledged segments would save the filling, but leave
// bodies on disk for longer than needed.
//
// Rejected: mapped memory (a stalled page fault holds up the whole process, a
// full disk kills it), RWF_NOWAIT (ext4 refuses it for buffered writes),
// compression on this path (a prototype that compressed slowed a proxied call by
// 27 % instead of 9 %).
package spool
