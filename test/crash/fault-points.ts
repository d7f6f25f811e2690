/**
 * The named steps of a job at which a crash test breaks the service, and the faults that the test uses. The steps cover a
 * job from its submission to its attestation. The service has no hooks for the steps: `fault-preload.ts` finds them.
 */

/**
 * The commits of the store, in the order of a job's life. A job that finds a parked cell is accepted and started by one commit,
 * `start at once`. `recover` is the commit with which a service that starts again ends a job that was running.
 */
export const STORE_STEPS = [
  'open',
  'admit',
  'start',
  'start at once',
  'append',
  'finish',
  'attest',
  'recover',
] as const;
export type StoreStep = (typeof STORE_STEPS)[number];

/** The service's steps between the store's commits. */
export const OTHER_STEPS = ['prepare', 'hand over', 'release', 'collect', 'sign', 'clean up'] as const;
export type OtherStep = (typeof OTHER_STEPS)[number];

/** From the step on, the kernel does this to the thread that writes the store, in the `inject` syntax of strace(1). */
export const KERNEL_FAULTS = {
  'killed before it writes': 'pwrite64:signal=KILL:when=1',
  'killed between two writes': 'pwrite64:signal=KILL:when=2',
  'killed before it syncs': 'fsync:signal=KILL:when=1',
  'told that syncing failed': 'fsync:error=EIO:when=1+',
  'told that writing failed': 'pwrite64:error=EIO:when=1+',
  'told that the disk is full': 'pwrite64:error=ENOSPC:when=1+',
  'told late that it synced': 'fsync:delay_exit=500000:when=1+',
} as const;
export type KernelFault = keyof typeof KERNEL_FAULTS;

export const OTHER_FAULTS = ['killed before', 'killed after'] as const;
export type OtherFault = (typeof OTHER_FAULTS)[number];

export interface FaultPoint {
  readonly step: StoreStep | OtherStep;
  readonly fault: KernelFault | OtherFault;
}

/** Steps of a job that was queued and gets a new cell. For every other step, a parked cell waits for the job. */
const STEPS_WITHOUT_PARKING: ReadonlySet<FaultPoint['step']> = new Set([
  'open',
  'admit',
  'start',
  'prepare',
  'recover',
]);

/** Whether a parked cell waits for the job. If so, the job starts at once. */
export function isParked({ step }: FaultPoint): boolean {
  return !STEPS_WITHOUT_PARKING.has(step);
}

/** Whether the fault kills the process. Otherwise the process continues with the kernel's answer. */
export function isKill({ fault }: FaultPoint): boolean {
  return fault.startsWith('killed');
}

/** Every point: each store step with each of its faults, a kill before and after each other step, and a slow disk. */
export function everyFaultPoint(): FaultPoint[] {
  const slow = 'told late that it synced';
  const kernel = (Object.keys(KERNEL_FAULTS) as KernelFault[]).filter((fault) => fault !== slow);
  return [
    // The disk is slow from the first step to the end of the job.
    { step: 'admit', fault: slow },
    ...STORE_STEPS.flatMap((step) => [...kernel, 'killed after' as const].map((fault) => ({ step, fault }))),
    ...OTHER_STEPS.flatMap((step) => OTHER_FAULTS.map((fault) => ({ step, fault }))),
  ];
}

/** The environment that arms a service with one fault. */
export const FAULT_VARIABLES = { step: 'CRASH_STEP', fault: 'CRASH_FAULT', reached: 'CRASH_REACHED' } as const;
