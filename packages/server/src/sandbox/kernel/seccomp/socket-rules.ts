/**
 * Which sockets a program may make. AF_UNIX is always allowed. In a cell with a loopback, TCP and UDP over IPv4 and
 * IPv6 are allowed too; under the host's kernel, only listed socket options are allowed. Raw sockets, netlink and all
 * other families are refused, because making a socket loads the code of its family into the kernel.
 */
import { allBut, allow, equals, matches, type Rule, refuse } from './seccomp-rule.ts';

/** The calls that make sockets. A socket pair of another family loads the kernel's code for that family, too. */
export const SOCKET_CALLS = ['socket', 'socketpair'];
export const OPTION_CALLS = ['setsockopt', 'getsockopt'];

const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const [SOCK_STREAM, SOCK_DGRAM] = [1, 2];
/** All bits of a type except the flags that it may be combined with: SOCK_NONBLOCK and SOCK_CLOEXEC. */
const TYPE_MASK = 0xffffffff - 0o2004000;
const KIND_MASK = 0xf;
/** Types and protocols: 0 is the default of the type, 6 is TCP, 17 is UDP. There are no ping sockets, MPTCP or SCTP. */
const INTERNET_KINDS = [
  { type: SOCK_STREAM, protocols: [0, 6] },
  { type: SOCK_DGRAM, protocols: [0, 17] },
] as const;
/** How many bits hold every protocol number of the Internet families. */
const PROTOCOL_BITS = 9;

const unix: readonly Rule[] = [allow(SOCKET_CALLS, equals(0, AF_UNIX))];
const internet: readonly Rule[] = [AF_INET, AF_INET6].flatMap((family) =>
  INTERNET_KINDS.flatMap(({ type, protocols }) =>
    protocols.map((protocol) => allow(['socket'], equals(0, family), matches(1, TYPE_MASK, type), equals(2, protocol))),
  ),
);
const otherProtocols: readonly Rule[] = [AF_INET, AF_INET6].flatMap((family) =>
  INTERNET_KINDS.flatMap(({ type, protocols }) =>
    allBut(protocols, PROTOCOL_BITS).map(({ mask, value }) =>
      refuse(['socket'], equals(0, family), matches(1, TYPE_MASK, type), matches(2, mask, value)),
    ),
  ),
);

/** The allowed sockets. The code that applies the rules refuses all others. */
export function allowedSockets(loopback: boolean): readonly Rule[] {
  return loopback ? [...unix, ...internet] : unix;
}

/** Refuses all other sockets, as far as rules can express this. A call that no rule covers counts as unknown. */
export function refusedSockets(loopback: boolean): readonly Rule[] {
  const notUnix = { index: 0, value: AF_UNIX, op: 'SCMP_CMP_NE' } as const;
  if (!loopback) return [refuse(SOCKET_CALLS, notUnix)];
  const others = [0, 3, 4, 5, 6, 7, 8, 9].map((family) => refuse(['socket'], equals(0, family)));
  const kinds = [AF_INET, AF_INET6].flatMap((family) =>
    allBut([SOCK_STREAM, SOCK_DGRAM], 4).map(({ mask, value }) =>
      refuse(['socket'], equals(0, family), matches(1, mask & KIND_MASK, value)),
    ),
  );
  const later = refuse(['socket'], { index: 0, value: AF_INET6, op: 'SCMP_CMP_GT' });
  return [refuse(['socketpair'], notUnix), ...others, later, ...kinds, ...otherProtocols];
}

/**
 * Socket options, by level, that ordinary programs use and that affect only the program's own socket. Left out on purpose:
 * filters (SO_ATTACH_*), zero copy, devices, marks, TCP_ULP, TCP_REPAIR, TCP_MD5SIG, TCP_CONGESTION, IP_MSFILTER and groups.
 */
const OPTIONS: Readonly<Record<number, readonly number[]>> = {
  // SOL_SOCKET: reuse, type, error, route, broadcast, buffers, keep-alive, out-of-band, linger, reuse of ports, credentials, low
  // water marks, time limits, accepting, time stamps, protocol, domain, security.
  1: [2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 15, 16, 17, 18, 19, 20, 21, 29, 30, 31, 34, 35, 38, 39, 42, 59],
  // IPPROTO_IP: type of service, hop limit, addresses of packets, path MTU and its discovery, errors, and whether the hop limit
  // and the type of service are received.
  0: [1, 2, 8, 10, 11, 12, 13, 14],
  // IPPROTO_TCP: no delay, segments, cork, keep-alive, retries, lingering, deferring, window, info, acknowledging, time
  // limit, low water.
  6: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 18, 25],
  // IPPROTO_IPV6: hop limit, path MTU and its discovery, errors, IPv6 only, addresses of packets, hop limit and class received.
  41: [16, 23, 24, 25, 26, 49, 50, 51, 52, 66, 67],
};

/** Every option that may be set or read under the host's kernel; every other option counts as unknown. */
export const allowedOptions: readonly Rule[] = Object.entries(OPTIONS).flatMap(([level, options]) =>
  options.map((option) => allow(OPTION_CALLS, equals(1, Number(level)), equals(2, option))),
);
