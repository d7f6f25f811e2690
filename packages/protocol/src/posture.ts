/** The words for a job's posture. Providers are listed from the weakest to the strongest. Spec § Receipt, § Job detail. */
export const BACKENDS = ['subprocess', 'namespace', 'gvisor'] as const;
export type Backend = (typeof BACKENDS)[number];

export const NETWORKING = ['disabled', 'host'] as const;

export const SECCOMP_MODES = ['disabled', 'strict', 'filter'] as const;
export type SeccompMode = (typeof SECCOMP_MODES)[number];
