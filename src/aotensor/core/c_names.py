"""Names of C library functions, which no exported function may have.

Those that the headers of ISO C, unistd.h, fcntl.h, poll.h, dirent.h, dlfcn.h, glob.h, regex.h and sys/mman.h,
resource.h, socket.h, stat.h, time.h and wait.h declare on Linux; and types of these headers.
"""

from __future__ import annotations

import re
from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LIBM: Final = _words("""
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh drem dremf erf erfc exp exp10 exp2 expm1 fabs
    fdim finite floor fma fmax fmin fmod frexp gamma hypot ilogb isinf isnan j0 j1 jn ldexp lgamma llrint llround
    log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter nexttoward pow pow10 remainder remquo rint
    round roundeven scalb scalbln scalbn signbit significand sin sincos sinh sqrt tan tanh tgamma trunc y0 y1 yn
    """)
"""Each of them also has a float and a long double variant, with a suffix."""

_LIBC: Final = _words("""
    a64l abort abs accept access acct adjtime alarm aligned_alloc alloca alphasort arc4random arc4random_buf
    arc4random_uniform asctime at_quick_exit atexit atof atoi atol atoll bcmp bcopy bind brk bsearch btowc bzero
    c16rtomb c32rtomb call_once calloc chdir chmod chown chroot clearenv clearerr clock close closedir closefrom
    confstr connect creat crypt ctermid ctime daemon daylight difftime dirfd div dladdr dlclose dlerror dlinfo
    dlmopen dlopen dlsym dlvsym drand48 dup dup2 duplocale dysize ecvt endusershell environ erand48 exit
    explicit_bzero faccessat fchdir fchmod fchmodat fchown fchownat fclose fcntl fcvt fdatasync fdopen fdopendir
    feof ferror fexecve fflush ffs ffsl ffsll fgetc fgetpos fgets fgetwc fgetws fileno flockfile fmemopen fopen
    fork fpathconf fpclassify fputc fputs fputwc fputws fread free freelocale freopen fseek fseeko fsetpos fstat
    fstatat fsync ftell ftello ftruncate ftrylockfile funlockfile futimens futimes fwide fwrite gcvt getc
    getchar getcwd getdelim getdirentries getdomainname getdtablesize getegid getentropy getenv geteuid getgid
    getgroups gethostid gethostname getitimer getline getloadavg getlogin getopt getpagesize getpass getpeername
    getpgid getpgrp getpid getppid getpriority getrlimit getrusage getsid getsockname getsockopt getsubopt
    gettimeofday getuid getusershell getw getwc getwchar getwd glob globfree gmtime gsignal imaxabs imaxdiv
    index initstate isatty isfdtype isfinite isgreater isgreaterequal isless islessequal islessgreater isnormal
    isunordered iswctype jrand48 kill killpg l64a labs lchmod lchown lcong48 ldiv lgamma_r link linkat listen
    llabs lldiv localeconv localtime lockf longjmp lrand48 lseek lstat lutimes madvise malloc mblen mbrlen
    mbrtoc16 mbrtoc32 mbrtowc mbsinit mbsnrtowcs mbsrtowcs mbstowcs mbtowc memccpy memchr memcmp memcpy memmove
    memset mincore mkdir mkdirat mkdtemp mkfifo mkfifoat mknod mknodat mkstemp mkstemps mktemp mktime mlock
    mlockall mmap mprotect mrand48 mremap msync munlock munlockall munmap nanosleep newlocale nice nrand48
    offsetof on_exit open open_memstream open_wmemstream openat opendir optarg opterr optind optopt pathconf
    pause pclose perror pipe poll popen posix_fadvise posix_fallocate posix_madvise posix_memalign pread printf
    profil pselect psiginfo psignal putc putchar putenv puts putw putwc putwchar pwrite qecvt qfcvt qgcvt qsort
    quick_exit raise rand random read readdir readlink readlinkat realloc reallocarray realpath recv recvfrom
    recvmsg regcomp regerror regexec regfree remove rename renameat revoke rewind rewinddir rindex rmdir rpmatch
    sbrk scandir seed48 seekdir select send sendmsg sendto setbuf setbuffer setdomainname setegid setenv seteuid
    setgid sethostid sethostname setitimer setjmp setlinebuf setlocale setlogin setpgid setpgrp setpriority
    setregid setreuid setrlimit setsid setsockopt setstate settimeofday setuid setusershell setvbuf shm_open
    shm_unlink shutdown signal signgam sleep snprintf sockatmark socket socketpair sprintf srand srand48 srandom
    ssignal stat std stpcpy stpncpy strcasecmp strcat strchr strcmp strcoll strcpy strcspn strdup strerror
    strftime strlen strncasecmp strncat strncmp strncpy strndup strnlen strpbrk strrchr strsep strsignal strspn
    strstr strtod strtof strtoimax strtok strtol strtold strtoq strtoul strtoumax strtouq strxfrm symlink
    symlinkat sync syscall sysconf system tcgetpgrp tcsetpgrp telldir tempnam time timegm timelocal timespec_get
    tmpfile tmpnam toascii tolower toupper towctrans towlower towupper truncate ttyname ttyslot tzname tzset
    ualarm umask ungetc ungetwc unlink unlinkat unsetenv uselocale usleep utimensat utimes va_arg va_copy va_end
    va_start valloc vfork vhangup wait wait3 wait4 waitid waitpid wcpcpy wcpncpy wcrtomb wctob wctomb wctrans
    wctype write
    """)

_TYPES: Final = re.compile(
    r"DIR|FILE|(fd|sig)_(mask|set|t)|(sig)?jmp_buf|fpregset_t|(dev|div|gid|id|ino|key|ldiv|lldiv|off|pid|s_reg|sem|uid)_t"
    r"|(active_reg|blkcnt|blksize|caddr|clock|clockid|cpu_set|daddr|fenv|fexcept|fpos|fsblkcnt|fsfilcnt|fsid|glob|greg"
    r"|gregset|idtype|imaxdiv|locale|loff|mbstate|mcontext|mode|nfds|nlink|nullptr|quad|reg_errcode|reg_syntax|regex"
    r"|register|regmatch|regoff|rlim|sig_atomic|sigevent|sigset|sigval|socklen|stack|suseconds|time|timer|u_quad|ucontext"
    r"|useconds|wctrans|wctype|atomic_(char(16|32)|u?int_(fast|least)(8|16|32|64)))_t"
    r"|memory_order(_[a-z_]+)?|once_flag|u_(char|int|long|short)|u(int|long|short)|va_list|(ITIMER|PRIO|RLIMIT|RUSAGE)_[A-Z]+"
    r"|DT_(BLK|CHR|DIR|FIFO|LNK|REG|SOCK|UNKNOWN|WHT)|P_(ALL|PGID|PID|PIDFD)"
)

_FAMILIES: Final = re.compile(
    r"(atomic|cnd|mtx|pthread|thrd|tss)_[a-z_]+|(wcs|wmem)[a-z]+|exec(l|le|lp|v|ve|vp|vpe)|tc[gs]et(attr|pgrp|sid)"
    r"|clock_(getcpuclockid|getres|gettime|nanosleep|settime)|timer_(create|delete|getoverrun|gettime|settime)"
    r"|sched_(get|set|rr|yield|cpu)[a-z_]*|sem_(close|destroy|getvalue|init|open|post|timedwait|trywait|unlink|wait)"
    r"|sig(action|addset|altstack|block|delset|emptyset|fillset|getmask|hold|ignore|interrupt|ismember|longjmp|mask|pause)"
    r"|sig(pending|procmask|queue|relse|return|set|setjmp|setmask|stack|suspend|timedwait|vec|wait|waitinfo)"
    r"|(c(a?(sin|cos|tan)h?|abs|arg|exp|imag|log|pow|proj|real|sqrt)|conj)[fl]?"
    r"|fe[a-z]+(except|exceptflag|env|round)"
    r"|isw?(alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|xdigit)"
    r"|v?([dfs]|sn|as)?(printf|scanf)|v?[fs]?w(printf|scanf)"
    r"|(str|wcs)to[a-z]+"
)


def is_of_c_library(name: str) -> bool:
    """Is it a function of C's library, including the variants `_l`, `_r` and `_unlocked`, or a type of its headers?"""
    if name in _LIBC or name in _LIBM or _TYPES.fullmatch(name) or (name[-1:] in "fl" and name[:-1] in _LIBM):
        return True
    stem = re.sub(r"_(l|r|unlocked)$", "", name)
    return _FAMILIES.fullmatch(name) is not None or (stem != name and is_of_c_library(stem))
