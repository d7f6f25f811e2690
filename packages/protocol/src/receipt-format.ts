/** The members of a receipt that describe its format. Spec § Receipt. */
export const RECEIPT_SCHEMA_VERSION = 4;

/** How `output` is encoded for its digests, under the specification's name for this encoding. */
export const OUTPUT_ENCODING = 'utf8-event-lines-joined-by-lf-no-trailing-lf';

/** The members of a receipt that an executor observed about the cell, without the usage and the output of its program. */
export const OBSERVED_MEMBERS = [
  'bootstrap_ready',
  'backend',
  'runtime_identity',
  'runtime_pack',
  'isolation_class',
  'private_rootfs',
  'dedicated_bootstrap',
  'seccomp',
  'no_new_privileges',
  'capabilities',
  'network_allowed',
  'networking',
  'effective_limits',
  'limit_enforcement',
  'host_posture_sha256',
] as const;

/** Who measured a program's usage: the host's kernel for the whole cell, or gVisor's kernel for the program's processes. */
export const ACCOUNTS = ['cell', 'guest'] as const;
