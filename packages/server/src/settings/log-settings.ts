/** The settings of the log of signed statements. `SERVICE_LOG_LEVEL` is about the lines that a process writes. */

/** A setting that is on unless the operator turns it off. */
export const onUnless = (description: string) =>
  ({ type: 'string', enum: ['on', 'off'], default: 'on', description }) as const;

export const LOG_SHAPES = {
  SERVICE_LOG_COUNTER: onUnless(
    'Whether a signed statement has the number of the job in its tenant. Its readers then know how many jobs the tenant had.',
  ),
  SERVICE_LOG_HOST: {
    ...({ type: 'string', pattern: '^[A-Za-z0-9.-]{1,200}$' } as const),
    description: 'The host name of a public log of signed statements. With a log, the number of jobs is public.',
  },
  SERVICE_LOG_PROMISES: {
    type: 'string',
    enum: ['asked', 'all'],
    default: 'asked',
    description: 'Which jobs get a signed promise of an answer in the log: those that ask, or all.',
  },
  SERVICE_LOG_PROMISE_SECONDS: {
    type: 'integer',
    minimum: 10,
    maximum: 31_536_000,
    default: 600,
    description: 'Seconds within which the log has the result of a promised job, or a statement that the job waits.',
  },
  SERVICE_LOG_WITNESSES: {
    type: 'string',
    description:
      'File with the witnesses of the log, one a line: the key as `NAME+HINT+BASE64`, and the address. One witness must answer before anything is logged.',
  },
} as const;
