/*
 * payload FILE NAME: append "NAME NANOSECONDS PID\n" to FILE, then wait for a
 * signal.
 *
 * NANOSECONDS is CLOCK_MONOTONIC at the first instruction. There is no libc and
 * no dynamic loader in the way: what a benchmark measures up to here is the
 * supervisor and the kernel. Signals keep their default actions, so that SIGTERM
 * ends it.
 *
 * cc -O2 -static -nostdlib -ffreestanding -fno-stack-protector -o payload payload.c
 */
#include <linux/fcntl.h>
#include <linux/time.h>
#include <linux/time_types.h>
#include <asm/unistd.h>

#if defined(__x86_64__)
static long sys(long nr, long a, long b, long c, long d)
{
	long ret;
	register long r10 __asm__("r10") = d;
	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return ret;
}
__asm__(".global _start\n"
	"_start: mov %rsp, %rdi\n"
	"        and $-16, %rsp\n"
	"        call first\n");
#elif defined(__aarch64__)
static long sys(long nr, long a, long b, long c, long d)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3)
			 : "memory");
	return x0;
}
__asm__(".global _start\n"
	"_start: mov x0, sp\n"
	"        bl first\n");
#else
#error "payload.c knows x86_64 and aarch64"
#endif

#define LINE 256

static char *put_number(char *p, unsigned long n)
{
	char digits[20];
	int i = 0;

	do {
		digits[i++] = '0' + n % 10;
	} while (n /= 10);
	while (i)
		*p++ = digits[--i];
	return p;
}

static char *put_text(char *p, char *end, const char *s)
{
	while (*s && p < end)
		*p++ = *s++;
	return p;
}

/* first gets the initial stack: argc, argv[0], argv[1], ... */
__attribute__((noreturn, used)) void first(long *stack)
{
	struct __kernel_timespec now;
	char line[LINE], *p = line;
	char **argv = (char **)(stack + 1);
	long fd;

	sys(__NR_clock_gettime, CLOCK_MONOTONIC, (long)&now, 0, 0);
	if (stack[0] != 3)
		sys(__NR_exit_group, 2, 0, 0, 0);
	/* 48 bytes hold two numbers of 64 bits and what stands between them. */
	p = put_text(p, line + LINE - 48, argv[2]);
	*p++ = ' ';
	p = put_number(p, now.tv_sec * 1000000000UL + now.tv_nsec);
	*p++ = ' ';
	p = put_number(p, sys(__NR_getpid, 0, 0, 0, 0));
	*p++ = '\n';
	fd = sys(__NR_openat, AT_FDCWD, (long)argv[1], O_WRONLY | O_APPEND | O_CLOEXEC, 0);
	if (fd < 0 || sys(__NR_write, fd, (long)line, p - line, 0) != p - line)
		sys(__NR_exit_group, 1, 0, 0, 0);
	sys(__NR_close, fd, 0, 0, 0);
	for (;;)
		sys(__NR_ppoll, 0, 0, 0, 0);
}
