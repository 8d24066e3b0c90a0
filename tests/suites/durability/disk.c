/* Stands between one program and the disk, by LD_PRELOAD: what `disk.rs` reads and decides is done here.

   Every write, truncation and sync of `remit.db` and its log is told to the journal, and so is every answer on
   stdout, in the order in which they happened. Before each of the first three the fault is looked at: when its
   countdown ends, the operation fails with the error that is written there, or the program is killed. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* As `disk.rs` reads it. */
struct event { uint8_t what, file; uint64_t offset, length; } __attribute__((packed));

/* As `disk.rs` writes it. `error` below 0 kills; `lasting` fails all that follow, too. */
struct fault { int32_t countdown, error, lasting, fired; };

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static int journal = -1, faults = -1;

/* What stdout leads to: the program may write to it by another descriptor. */
static char output[64];

static int ends_with(const char *text, const char *end) {
  size_t length = strlen(text), wanted = strlen(end);
  return length >= wanted && !strcmp(text + length - wanted, end);
}

static ssize_t target_of(int fd, char *name, size_t length) {
  char link[32] = "/proc/self/fd/", digits[12];
  int count = 0, at = 14;
  do digits[count++] = (char)('0' + fd % 10); while ((fd /= 10) > 0);
  while (count > 0) link[at++] = digits[--count];
  ssize_t read = readlink(link, name, length - 1);
  name[read > 0 ? read : 0] = 0;
  return read;
}

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("DISK_JOURNAL");
  if (path) journal = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  path = getenv("DISK_FAULT");
  if (path) faults = open(path, O_RDWR | O_CLOEXEC);
  target_of(1, output, sizeof output);
}

/* `d` for the database, `w` for its log, `o` for stdout, 0 for anything else. */
static char file_of(int fd) {
  char name[4096];
  if (fd < 0 || target_of(fd, name, sizeof name) <= 0) return 0;
  if (!strcmp(name, output)) return 'o';
  return ends_with(name, "/remit.db") ? 'd' : ends_with(name, "/remit.db-wal") ? 'w' : 0;
}

static void tell(char what, char file, uint64_t offset, const void *bytes, uint64_t length) {
  struct event event = { (uint8_t)what, (uint8_t)file, offset, length };
  if (journal < 0) return;
  syscall(SYS_write, journal, &event, sizeof event);
  if (bytes && length) syscall(SYS_write, journal, bytes, length);
}

/* Whether the operation is to fail; `errno` says how. */
static int fails(void) {
  struct fault fault;
  if (faults < 0 || syscall(SYS_pread64, faults, &fault, sizeof fault, 0) != sizeof fault) return 0;
  if (fault.countdown <= 0) return 0;
  if (fault.countdown > 1) {
    fault.countdown--;
    syscall(SYS_pwrite64, faults, &fault, sizeof fault, 0);
    return 0;
  }
  if (!fault.lasting) fault.countdown = 0;
  fault.fired++;
  syscall(SYS_pwrite64, faults, &fault, sizeof fault, 0);
  if (fault.error < 0) kill(getpid(), SIGKILL);
  errno = fault.error;
  return 1;
}

static ssize_t put(int fd, const void *bytes, size_t length, int64_t offset, int is_seeking) {
  char file = file_of(fd);
  ssize_t done = -1;
  if (!file) {
    return is_seeking ? syscall(SYS_write, fd, bytes, length) : syscall(SYS_pwrite64, fd, bytes, length, offset);
  }
  pthread_mutex_lock(&turn);
  if (is_seeking && file != 'o') offset = syscall(SYS_lseek, fd, 0, SEEK_CUR);
  if (file == 'o' || !fails()) {
    /* An answer is told before it can be seen, so that nothing that follows from it comes first. */
    if (file == 'o') tell('a', 'o', 0, bytes, length);
    done = is_seeking ? syscall(SYS_write, fd, bytes, length) : syscall(SYS_pwrite64, fd, bytes, length, offset);
    if (done > 0 && file != 'o') tell('w', file, (uint64_t)offset, bytes, (uint64_t)done);
  }
  pthread_mutex_unlock(&turn);
  return done;
}

ssize_t write(int fd, const void *bytes, size_t length) { return put(fd, bytes, length, 0, 1); }
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) { return put(fd, bytes, length, offset, 0); }
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) { return put(fd, bytes, length, offset, 0); }

/* Used for answers only. */
ssize_t writev(int fd, const struct iovec *parts, int count) {
  if (file_of(fd) != 'o') return syscall(SYS_writev, fd, parts, count);
  pthread_mutex_lock(&turn);
  for (int part = 0; part < count; part++) tell('a', 'o', 0, parts[part].iov_base, parts[part].iov_len);
  ssize_t done = syscall(SYS_writev, fd, parts, count);
  pthread_mutex_unlock(&turn);
  return done;
}

static int shorten(int fd, int64_t length) {
  char file = file_of(fd);
  int done = -1;
  if (file != 'd' && file != 'w') return (int)syscall(SYS_ftruncate, fd, length);
  pthread_mutex_lock(&turn);
  if (!fails()) {
    done = (int)syscall(SYS_ftruncate, fd, length);
    if (!done) tell('t', file, (uint64_t)length, NULL, 0);
  }
  pthread_mutex_unlock(&turn);
  return done;
}

int ftruncate(int fd, off_t length) { return shorten(fd, length); }
int ftruncate64(int fd, off64_t length) { return shorten(fd, length); }

static int settle(int fd, long number) {
  char file = file_of(fd);
  int done = -1;
  if (file != 'd' && file != 'w') return (int)syscall(number, fd);
  pthread_mutex_lock(&turn);
  if (!fails()) {
    done = (int)syscall(number, fd);
    if (!done) tell('s', file, 0, NULL, 0);
  }
  pthread_mutex_unlock(&turn);
  return done;
}

int fsync(int fd) { return settle(fd, SYS_fsync); }
int fdatasync(int fd) { return settle(fd, SYS_fdatasync); }
