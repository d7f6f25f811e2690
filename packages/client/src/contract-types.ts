/** The words and bodies of the contract as types. `npm run openapi` writes this file from the tables of the contract. */

export type TerminalStatus = 'succeeded' | 'failed' | 'timed_out' | 'oom_killed' | 'cancelled' | 'error';

export type JobStatus =
  | 'queued'
  | 'running'
  | 'succeeded'
  | 'failed'
  | 'timed_out'
  | 'oom_killed'
  | 'cancelled'
  | 'error';

export type TerminalReason =
  | 'exited'
  | 'signaled'
  | 'compile_failed'
  | 'wall_limit'
  | 'cpu_limit'
  | 'memory_limit'
  | 'cancelled'
  | 'bootstrap_failed'
  | 'isolation_unsatisfied'
  | 'runtime_failed'
  | 'server_restarted'
  | 'server_shutdown'
  | 'internal_error';

export type Language = 'python' | 'node' | 'bash' | 'typescript' | 'ruby' | 'php' | 'lua' | 'r' | 'java' | 'c' | 'cpp';

export type IsolationClass =
  | 'none'
  | 'linux-shared-kernel'
  | 'gvisor-application-kernel'
  | 'hardware-vm'
  | 'confidential-vm'
  | 'wasm-capability';

export type Backend = 'subprocess' | 'namespace' | 'gvisor';

export type Networking = 'disabled' | 'host';

export type SeccompMode = 'disabled' | 'strict' | 'filter';

export type ViolationType =
  | 'wall_time'
  | 'cpu_time'
  | 'memory'
  | 'pids'
  | 'file_size'
  | 'syscall'
  | 'output_missing'
  | 'output_kind'
  | 'output_size'
  | 'output_path'
  | 'output_count'
  | 'compile'
  | 'tool_call_size'
  | 'tool_total_size'
  | 'tool_calls'
  | 'tool_protocol';

export type StreamName = 'stdout' | 'stderr';

export type AuthMethod = 'key' | 'jwt' | 'legacy';

export type Scope = 'jobs:submit' | 'jobs:read' | 'jobs:cancel' | 'service:read' | 'metrics:read';

export type SubmissionInclude = 'receipt' | 'detail' | 'history' | 'promise' | 'stream_ticket';

export type ErrorCode =
  | 'invalid_request'
  | 'invalid_json'
  | 'unsupported_language'
  | 'network_not_allowed'
  | 'unauthorized'
  | 'insufficient_scope'
  | 'principal_not_allowed'
  | 'job_not_found'
  | 'tool_call_not_found'
  | 'grading_not_found'
  | 'session_not_found'
  | 'links_disabled'
  | 'link_not_found'
  | 'blob_not_found'
  | 'route_not_found'
  | 'attestation_unavailable'
  | 'attestation_disabled'
  | 'log_proof_unavailable'
  | 'not_logged'
  | 'promise_unavailable'
  | 'not_promised'
  | 'canary_not_found'
  | 'signing_key_unknown'
  | 'method_not_allowed'
  | 'body_timeout'
  | 'job_not_terminal'
  | 'job_terminal'
  | 'tool_call_answered'
  | 'session_conflict'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'expectation_failed'
  | 'runtime_unavailable'
  | 'minimum_isolation_unsatisfied'
  | 'enforcement_unsatisfied'
  | 'promise_not_offered'
  | 'blob_unavailable'
  | 'input_unavailable'
  | 'tool_result_misfit'
  | 'digest_mismatch'
  | 'idempotency_key_reused'
  | 'rate_limited'
  | 'tenant_capacity_exhausted'
  | 'head_too_large'
  | 'internal'
  | 'queue_full'
  | 'capacity_exhausted'
  | 'store_unavailable'
  | 'issuer_unavailable'
  | 'worker_unavailable'
  | 'shutting_down'
  | 'insufficient_storage';

export interface JobSubmission {
  /** `python`, `node`, `bash`, `typescript`, or the language of a runtime pack; see capabilities. */
  language: string;
  /** Source; at most 1 MiB as UTF-8. */
  code: string;
  /** Files in base64 have at most 4 MiB in total; with those that are named, at most 64 MiB. */
  files?: Array<InputFile | UploadedFile | OutputFile>;
  /** Arguments of the program; at most 4 KiB each and 32 KiB together as UTF-8, without NUL. */
  args?: Array<string>;
  /**
   * Environment variables; at most 4 KiB each and 32 KiB together as UTF-8, without NUL. The fixed ones
   * cannot be set, nor those that a loader or an interpreter reads at its start: PATH, HOME, LANG,
   * USER, LOGNAME, SHELL, PWD, TMPDIR, MPLCONFIGDIR, LD_*, GLIBC_TUNABLES, MALLOC_*, GCONV_PATH,
   * LOCPATH, NLSPATH, OPENSSL_*, BASH_ENV, BASHOPTS, SHELLOPTS, BASH_FUNC_*, ENV, POSIXLY_CORRECT,
   * PYTHON*, NODE_*, PERL*, RUBY*, GEM_*, BUNDLE_*, LUA_*, PHPRC, PHP_INI_SCAN_DIR, R_*,
   * JAVA_TOOL_OPTIONS, JDK_JAVA_OPTIONS, _JAVA_OPTIONS, CLASSPATH.
   */
  env?: Record<string, string>;
  /** Files to bring back; at most 32 regular files of at most 2 MiB each, 4 MiB in total. */
  outputs?: Array<string>;
  /** Files that come back by their digests. At least one is named. */
  large_outputs?: {
    /** Files to bring back. Patterns are for `outputs` alone, and no file is in both. */
    paths?: Array<string>;
    /**
     * A path under `output/` by which all of standard output comes back where its events do not have every
     * byte of it; null counts as left out.
     */
    stdout?: string | null;
    /** All of them together; 64 MiB if omitted. So much room of the tenant is reserved until the job ends. */
    max_bytes?: number;
  };
  /**
   * Starts what a build of the same code made, without a compiler. The build was of the same language
   * and runtime.
   */
  product?: {
    /** The job of a successful build. */
    job_id: string;
  };
  /** Name of a runtime pack, from capabilities; null counts as left out. */
  runtime?: string | null;
  requirements?: {
    /** The weakest isolation that will do; refused where the service has less. */
    minimum_isolation?: IsolationClass;
    /** Limits that the host must hold, and not only watch; refused where it does not hold each of them. */
    enforced?: Array<'wall_seconds' | 'cpu_seconds' | 'mem_mb' | 'max_pids' | 'max_file_mb'>;
  };
  limits?: LimitsInput;
  /** Fixes the hash seeds of Python and Perl; the policy says so. */
  reproducible?: boolean;
  /**
   * A text of at most 1 MiB as UTF-8, or bytes that are named as those of a file are, at most 64 MiB;
   * without it, or null, stdin is at its end.
   */
  stdin?:
    | string
    | {
        /** In place of the content: an upload, or an output of a job, as `sha256:` and its digest. */
        blob: string;
      }
    | {
        /** In place of the content: an output of another job of the tenant. */
        from: OutputName;
        /**
         * Beside `from`, the digest of that output: the service adds it, and refuses a submission with
         * another.
         */
        blob?: string;
      }
    | null;
  /**
   * Only compiles the program, in `c`, `cpp` or `java`. The product comes back as the large output
   * `output/product`.
   */
  build?: {
    /**
     * Options of the compiler, of which these are taken. For C and C++: `-O0` to `-O3`, `-Os`, `-Ofast`,
     * `-g`, `-g0` to `-g3`, `-std=c17` and its like, `-DNAME`, `-DNAME=VALUE`, `-w`, `-pedantic`,
     * `-static`, `-Wall` and other warnings without a comma, `-fconstexpr-depth=N`,
     * `-fconstexpr-ops-limit=N`, `-fconstexpr-loop-limit=N`, and with `-f` or `-fno-`: `exceptions`,
     * `rtti`, `strict-aliasing`, `wrapv`, `trapv`, `signed-char`, `omit-frame-pointer`, `fast-math`,
     * `unroll-loops`, `openmp`. For Java: `-g`, `-g:none`, `-nowarn`, `-Werror`, `-parameters`,
     * `--release=N`, `-Xlint`, `-Xlint:all` and its like.
     */
    options?: Array<string>;
  };
  /**
   * A second program: the standard output of each is the standard input of the other while both run. It
   * becomes a job of its own, and the submission then has no `stdin`.
   */
  interactor?: Interactor;
  /** Tools that the program may call. Each call is an event, which whoever submitted the job answers. */
  tools?: Array<Tool>;
  tool_limits?: {
    /** How many calls of tools the program may make; 256 if omitted, clamped to 10000. */
    calls?: number;
    /** Bytes of one call, and of one answer; 262144 if omitted, clamped to 262144. */
    call_bytes?: number;
    /** Bytes of all calls, and of all answers; 4194304 if omitted, clamped to 4194304. */
    total_bytes?: number;
  };
  /** Principals of the tenant that may answer calls of tools, beside the one that submits. */
  tool_principals?: Array<string>;
  /**
   * A step of a session: the files of `/work` and the values that the step before left are loaded before
   * the program, and kept after it if it succeeds. Not for compiled languages.
   */
  session?: SessionStep;
  /**
   * For Python, JavaScript and TypeScript: a tar archive in gzip of a directory of packages. The cell
   * unpacks it before the program, for which it comes first where modules are looked for.
   */
  libraries?: Libraries;
  /**
   * Words by which jobs can be listed. They are part of the receipt, and of what an idempotency key
   * stands for, only with `sign_labels`.
   */
  labels?: Array<string>;
  /** Puts the labels into the receipt too, which is signed. */
  sign_labels?: boolean;
  /** Asks for a promise that the log answers for the job in time. */
  promise?: boolean;
}

export interface Interactor {
  /** `python`, `node`, `bash`, `typescript`, or the language of a runtime pack; see capabilities. */
  language: string;
  /** Source; at most 1 MiB as UTF-8. */
  code: string;
  /** Files in base64 have at most 4 MiB in total; with those that are named, at most 64 MiB. */
  files?: Array<InputFile | UploadedFile | OutputFile>;
  /** Arguments of the program; at most 4 KiB each and 32 KiB together as UTF-8, without NUL. */
  args?: Array<string>;
  /**
   * Environment variables; at most 4 KiB each and 32 KiB together as UTF-8, without NUL. The fixed ones
   * cannot be set, nor those that a loader or an interpreter reads at its start: PATH, HOME, LANG,
   * USER, LOGNAME, SHELL, PWD, TMPDIR, MPLCONFIGDIR, LD_*, GLIBC_TUNABLES, MALLOC_*, GCONV_PATH,
   * LOCPATH, NLSPATH, OPENSSL_*, BASH_ENV, BASHOPTS, SHELLOPTS, BASH_FUNC_*, ENV, POSIXLY_CORRECT,
   * PYTHON*, NODE_*, PERL*, RUBY*, GEM_*, BUNDLE_*, LUA_*, PHPRC, PHP_INI_SCAN_DIR, R_*,
   * JAVA_TOOL_OPTIONS, JDK_JAVA_OPTIONS, _JAVA_OPTIONS, CLASSPATH.
   */
  env?: Record<string, string>;
  /** Files to bring back; at most 32 regular files of at most 2 MiB each, 4 MiB in total. */
  outputs?: Array<string>;
  /** Files that come back by their digests. At least one is named. */
  large_outputs?: {
    /** Files to bring back. Patterns are for `outputs` alone, and no file is in both. */
    paths?: Array<string>;
    /**
     * A path under `output/` by which all of standard output comes back where its events do not have every
     * byte of it; null counts as left out.
     */
    stdout?: string | null;
    /** All of them together; 64 MiB if omitted. So much room of the tenant is reserved until the job ends. */
    max_bytes?: number;
  };
  /**
   * Starts what a build of the same code made, without a compiler. The build was of the same language
   * and runtime.
   */
  product?: {
    /** The job of a successful build. */
    job_id: string;
  };
  /** Name of a runtime pack, from capabilities; null counts as left out. */
  runtime?: string | null;
  requirements?: {
    /** The weakest isolation that will do; refused where the service has less. */
    minimum_isolation?: IsolationClass;
    /** Limits that the host must hold, and not only watch; refused where it does not hold each of them. */
    enforced?: Array<'wall_seconds' | 'cpu_seconds' | 'mem_mb' | 'max_pids' | 'max_file_mb'>;
  };
  limits?: LimitsInput;
  /** Fixes the hash seeds of Python and Perl; the policy says so. */
  reproducible?: boolean;
}

export interface Interaction {
  /** A job id: opaque, and no authorization by itself. */
  peer: string;
  role: 'program' | 'interactor';
}

export interface InputFile {
  /** Relative, under `input/`. */
  path: string;
  /** Standard base64 with padding; at most 2 MiB decoded. */
  content_base64: string;
}

export interface UploadedFile {
  /** Relative, under `input/`. */
  path: string;
  /** In place of the content: an upload, or an output of a job, as `sha256:` and its digest. */
  blob: string;
}

export interface OutputFile {
  /** Relative, under `input/`. */
  path: string;
  /** In place of the content: an output of another job of the tenant. */
  from: OutputName;
  /**
   * Beside `from`, the digest of that output: the service adds it, and refuses a submission with
   * another.
   */
  blob?: string;
}

export interface OutputName {
  /** The id of a job that has ended. */
  job_id: string;
  /** Under `output/`. */
  path: string;
}

export interface ResolvedOutput {
  /** Relative, under `input/`. */
  path: string;
  /** In place of the content: an output of another job of the tenant. */
  from: OutputName;
  /**
   * Beside `from`, the digest of that output: the service adds it, and refuses a submission with
   * another.
   */
  blob: string;
}

export interface HeldFile {
  /** Relative, under `input/`. */
  path: string;
  /** In place of the content: an upload, or an output of a job, as `sha256:` and its digest. */
  blob: string;
  held: true;
}

export interface LimitsInput {
  /** 10 if omitted; clamped to a ceiling, 300 unless the operator set another. */
  wall_seconds?: number;
  /** 5 if omitted; clamped to a ceiling, 120 unless the operator set another. */
  cpu_seconds?: number;
  /**
   * 256 if omitted; clamped to a ceiling, 1024 unless the operator set another. A fraction is rounded
   * down, though never below 1. Where the interpreter already holds more, the smallest limit that holds
   * is in force: `effective_spec` states it.
   */
  mem_mb?: number;
  /**
   * 64 if omitted; clamped to a ceiling, 256 unless the operator set another. A fraction is rounded
   * down, though never below 1. Where the interpreter already holds more, the smallest limit that holds
   * is in force: `effective_spec` states it.
   */
  max_pids?: number;
  /**
   * 16 if omitted; clamped to a ceiling, 64 unless the operator set another. A fraction is rounded down,
   * though never below 1.
   */
  max_file_mb?: number;
  /** `true` is refused with `network_not_allowed`: egress is never granted. */
  allow_network?: boolean;
}

export interface StoredBlob {
  /** `sha256:` and the SHA-256 of a file as 64 lower-case hex digits. */
  blob: string;
  size_bytes: number;
  /** UTC with milliseconds. */
  expires_at: string;
}

export interface Tool {
  /** The name by which the program calls it. */
  name: string;
  description?: string;
  /**
   * The JSON Schema (2020-12) of the arguments of a call. All of a submission have at most 16 KiB, and a
   * depth of at most 16. `$ref` points into the same schema; `pattern`, `format` and unknown keywords
   * are refused.
   */
  arguments?: Record<string, unknown>;
  /**
   * The JSON Schema (2020-12) of its result. All of a submission have at most 16 KiB, and a depth of at
   * most 16. `$ref` points into the same schema; `pattern`, `format` and unknown keywords are refused.
   */
  result?: Record<string, unknown>;
}

export interface ToolCalls {
  calls: Array<{
    /** The number of its event, by which it is answered. */
    seq: number;
    /** UTC with milliseconds. */
    timestamp: string;
    tool: string;
    arguments: unknown;
  }>;
  /** The last `seq` of the page, or `after`. Null once the job has ended. */
  next_cursor: number | null;
}

export interface ToolAnswer {
  result?: unknown;
  /** Why the tool failed. The program gets it as an error. */
  error?: string;
}

export interface ToolAnswerTaken {
  call_seq: number;
  /** The number of the event of the answer. */
  seq: number;
  /** Whether the same answer was taken before. */
  replayed: boolean;
}

export interface StreamedToolAnswer {
  /** The number of the event of the call. */
  call_seq: number;
  result?: unknown;
  /** Why the tool failed. The program gets it as an error. */
  error?: string;
}

export interface AnswerRefused {
  answer_refused: {
    call_seq: number;
    code: string;
    message: string;
    retryable: boolean;
  };
}

export interface ToolLimits {
  calls: number;
  call_bytes: number;
  total_bytes: number;
}

export interface GradingSubmission {
  /** Every program runs against every test. Several programs may have one name. */
  programs: Array<GradingProgram>;
  /** Tests with unique names. */
  tests: Array<GradingTest>;
  checker?: {
    language: string;
    code:
      | string
      | {
          /** `sha256:` and the SHA-256 of a file as 64 lower-case hex digits. */
          blob: string;
        };
    /**
     * Environment variables; at most 4 KiB each and 32 KiB together as UTF-8, without NUL. The fixed ones
     * cannot be set, nor those that a loader or an interpreter reads at its start: PATH, HOME, LANG,
     * USER, LOGNAME, SHELL, PWD, TMPDIR, MPLCONFIGDIR, LD_*, GLIBC_TUNABLES, MALLOC_*, GCONV_PATH,
     * LOCPATH, NLSPATH, OPENSSL_*, BASH_ENV, BASHOPTS, SHELLOPTS, BASH_FUNC_*, ENV, POSIXLY_CORRECT,
     * PYTHON*, NODE_*, PERL*, RUBY*, GEM_*, BUNDLE_*, LUA_*, PHPRC, PHP_INI_SCAN_DIR, R_*,
     * JAVA_TOOL_OPTIONS, JDK_JAVA_OPTIONS, _JAVA_OPTIONS, CLASSPATH.
     */
    env?: Record<string, string>;
    /** Files, as a job has them; those of a program go to each of its tests. */
    files?: Array<InputFile | UploadedFile | OutputFile>;
    /** Name of a runtime pack. */
    runtime?: string | null;
    /** `testlib` if left out. */
    codes?: 'testlib' | 'kattis';
    /** Arguments of the program; at most 4 KiB each and 32 KiB together as UTF-8, without NUL. */
    args?: Array<string>;
    limits?: LimitsInput;
  };
  /** The schema of the verdicts; `urn:svc:verdict:v1` if left out. The members below need the other. */
  verdict?: 'urn:svc:verdict:v1' | 'urn:svc:verdict:v2';
  interactor?: {
    language: string;
    code:
      | string
      | {
          /** `sha256:` and the SHA-256 of a file as 64 lower-case hex digits. */
          blob: string;
        };
    /**
     * Environment variables; at most 4 KiB each and 32 KiB together as UTF-8, without NUL. The fixed ones
     * cannot be set, nor those that a loader or an interpreter reads at its start: PATH, HOME, LANG,
     * USER, LOGNAME, SHELL, PWD, TMPDIR, MPLCONFIGDIR, LD_*, GLIBC_TUNABLES, MALLOC_*, GCONV_PATH,
     * LOCPATH, NLSPATH, OPENSSL_*, BASH_ENV, BASHOPTS, SHELLOPTS, BASH_FUNC_*, ENV, POSIXLY_CORRECT,
     * PYTHON*, NODE_*, PERL*, RUBY*, GEM_*, BUNDLE_*, LUA_*, PHPRC, PHP_INI_SCAN_DIR, R_*,
     * JAVA_TOOL_OPTIONS, JDK_JAVA_OPTIONS, _JAVA_OPTIONS, CLASSPATH.
     */
    env?: Record<string, string>;
    /** Files, as a job has them; those of a program go to each of its tests. */
    files?: Array<InputFile | UploadedFile | OutputFile>;
    /** Name of a runtime pack. */
    runtime?: string | null;
    /** `testlib` if left out. */
    codes?: 'testlib' | 'kattis';
    /** Arguments of the program; at most 4 KiB each and 32 KiB together as UTF-8, without NUL. */
    args?: Array<string>;
    limits?: LimitsInput;
  };
  groups?: Array<{
    name: string;
    /** `sum` if left out. */
    score?: 'sum' | 'minimum';
    /** Points of a group whose smallest part counts. */
    points?: number;
    /** Groups that are listed before it. */
    after?: Array<string>;
    /** Whether the first test that wins nothing ends the group. */
    stop?: boolean;
  }>;
  /** Without groups: whether the first test that wins nothing ends the grading. */
  stop?: boolean;
  validators?: Array<{
    language: string;
    code:
      | string
      | {
          /** `sha256:` and the SHA-256 of a file as 64 lower-case hex digits. */
          blob: string;
        };
    /**
     * Environment variables; at most 4 KiB each and 32 KiB together as UTF-8, without NUL. The fixed ones
     * cannot be set, nor those that a loader or an interpreter reads at its start: PATH, HOME, LANG,
     * USER, LOGNAME, SHELL, PWD, TMPDIR, MPLCONFIGDIR, LD_*, GLIBC_TUNABLES, MALLOC_*, GCONV_PATH,
     * LOCPATH, NLSPATH, OPENSSL_*, BASH_ENV, BASHOPTS, SHELLOPTS, BASH_FUNC_*, ENV, POSIXLY_CORRECT,
     * PYTHON*, NODE_*, PERL*, RUBY*, GEM_*, BUNDLE_*, LUA_*, PHPRC, PHP_INI_SCAN_DIR, R_*,
     * JAVA_TOOL_OPTIONS, JDK_JAVA_OPTIONS, _JAVA_OPTIONS, CLASSPATH.
     */
    env?: Record<string, string>;
    /** Files, as a job has them; those of a program go to each of its tests. */
    files?: Array<InputFile | UploadedFile | OutputFile>;
    /** Name of a runtime pack. */
    runtime?: string | null;
    /** `testlib` if left out. */
    codes?: 'testlib' | 'kattis';
    /** Arguments of the program; at most 4 KiB each and 32 KiB together as UTF-8, without NUL. */
    args?: Array<string>;
    limits?: LimitsInput;
  }>;
  limits?: LimitsInput;
  requirements?: {
    /** The weakest isolation that will do; refused where the service has less. */
    minimum_isolation?: IsolationClass;
    /** Limits that the host must hold, and not only watch; refused where it does not hold each of them. */
    enforced?: Array<'wall_seconds' | 'cpu_seconds' | 'mem_mb' | 'max_pids' | 'max_file_mb'>;
  };
}

export interface GradingProgram {
  name?: string;
  language: string;
  code:
    | string
    | {
        /** `sha256:` and the SHA-256 of a file as 64 lower-case hex digits. */
        blob: string;
      };
  /**
   * Environment variables; at most 4 KiB each and 32 KiB together as UTF-8, without NUL. The fixed ones
   * cannot be set, nor those that a loader or an interpreter reads at its start: PATH, HOME, LANG,
   * USER, LOGNAME, SHELL, PWD, TMPDIR, MPLCONFIGDIR, LD_*, GLIBC_TUNABLES, MALLOC_*, GCONV_PATH,
   * LOCPATH, NLSPATH, OPENSSL_*, BASH_ENV, BASHOPTS, SHELLOPTS, BASH_FUNC_*, ENV, POSIXLY_CORRECT,
   * PYTHON*, NODE_*, PERL*, RUBY*, GEM_*, BUNDLE_*, LUA_*, PHPRC, PHP_INI_SCAN_DIR, R_*,
   * JAVA_TOOL_OPTIONS, JDK_JAVA_OPTIONS, _JAVA_OPTIONS, CLASSPATH.
   */
  env?: Record<string, string>;
  /** Files, as a job has them; those of a program go to each of its tests. */
  files?: Array<InputFile | UploadedFile | OutputFile>;
  /** Name of a runtime pack. */
  runtime?: string | null;
}

export interface GradingTest {
  name: string;
  stdin?:
    | string
    | {
        /** `sha256:` and the SHA-256 of a file as 64 lower-case hex digits. */
        blob: string;
      };
  /** Arguments of the program; at most 4 KiB each and 32 KiB together as UTF-8, without NUL. */
  args?: Array<string>;
  /** Files, as a job has them; those of a program go to each of its tests. */
  files?: Array<InputFile | UploadedFile | OutputFile>;
  expected?:
    | string
    | {
        /** `sha256:` and the SHA-256 of a file as 64 lower-case hex digits. */
        blob: string;
      };
  /** `lines` if left out. */
  compare?:
    | 'lines'
    | 'words'
    | 'exact'
    | {
        floats: {
          absolute?: number;
          relative?: number;
        };
      };
  /** 1 if left out. */
  points?: number;
  group?: string;
  /**
   * Environment variables; at most 4 KiB each and 32 KiB together as UTF-8, without NUL. The fixed ones
   * cannot be set, nor those that a loader or an interpreter reads at its start: PATH, HOME, LANG,
   * USER, LOGNAME, SHELL, PWD, TMPDIR, MPLCONFIGDIR, LD_*, GLIBC_TUNABLES, MALLOC_*, GCONV_PATH,
   * LOCPATH, NLSPATH, OPENSSL_*, BASH_ENV, BASHOPTS, SHELLOPTS, BASH_FUNC_*, ENV, POSIXLY_CORRECT,
   * PYTHON*, NODE_*, PERL*, RUBY*, GEM_*, BUNDLE_*, LUA_*, PHPRC, PHP_INI_SCAN_DIR, R_*,
   * JAVA_TOOL_OPTIONS, JDK_JAVA_OPTIONS, _JAVA_OPTIONS, CLASSPATH.
   */
  env?: Record<string, string>;
  /** Arguments of the program; at most 4 KiB each and 32 KiB together as UTF-8, without NUL. */
  checker_args?: Array<string>;
}

export interface GradingAnswer {
  /** The id of a grading: opaque, and no authorization by itself. */
  grading_id: string;
  status: 'running';
  /** UTC with milliseconds. */
  created_at: string;
  grading_url: string;
  events_url: string;
}

export interface GradingItem {
  /** The id of a grading: opaque, and no authorization by itself. */
  grading_id: string;
  status: 'running' | 'finished' | 'failed' | 'cancelled';
  /** UTC with milliseconds. */
  created_at: string;
  /** UTC with milliseconds. */
  finished_at: string | null;
  cancellation_requested: boolean;
  programs: number;
  tests: number;
  /** Tests of all programs together. */
  runs: number;
  runs_ended: number;
}

export interface GradingList {
  items: Array<GradingItem>;
  /** Null on the last page. */
  next_cursor: string | null;
}

export interface Session {
  name: string;
  language: Language;
  /** A job id: opaque, and no authorization by itself. */
  last_job_id: string | null;
  /** A job id: opaque, and no authorization by itself. */
  running_job_id: string | null;
  /** UTC with milliseconds. */
  created_at: string;
  /** UTC with milliseconds. */
  changed_at: string;
}

export interface SessionList {
  items: Array<Session>;
}

export interface SessionRemoval {
  name: string;
  removed: true;
}

export interface SessionStep {
  /** Letters, digits, `.`, `_` and `-`; at most 64. A session belongs to the principal that began it. */
  name: string;
  /** The last step of the session, a job whose state this one begins with; null begins the session. */
  after: string | null;
}

export interface Libraries {
  /** In place of the content: an upload, or an output of a job, as `sha256:` and its digest. */
  blob: string;
}

export interface GradingDetail {
  /** The id of a grading: opaque, and no authorization by itself. */
  grading_id: string;
  status: 'running' | 'finished' | 'failed' | 'cancelled';
  /** UTC with milliseconds. */
  created_at: string;
  /** UTC with milliseconds. */
  finished_at: string | null;
  cancellation_requested: boolean;
  programs: number;
  tests: number;
  /** Tests of all programs together. */
  runs: number;
  runs_ended: number;
  /** The programs, in the order of the submission. */
  graded: Array<ProgramState>;
}

export interface GradingCancellation {
  /** The id of a grading: opaque, and no authorization by itself. */
  grading_id: string;
  status: 'running' | 'finished' | 'failed' | 'cancelled';
  /** UTC with milliseconds. */
  created_at: string;
  /** UTC with milliseconds. */
  finished_at: string | null;
  cancellation_requested: boolean;
  programs: number;
  tests: number;
  /** Tests of all programs together. */
  runs: number;
  runs_ended: number;
  /** The programs, in the order of the submission. */
  graded: Array<ProgramState>;
  already_terminal: boolean;
}

export interface ProgramState {
  name: string | null;
  language: Language;
  status: 'waiting' | 'judged' | 'failed' | 'cancelled';
  verdict: ProgramVerdict | null;
  /** The reason if there is no verdict. */
  problem: string | null;
}

export interface ProgramVerdict {
  accepted: boolean;
  points: number;
  points_max: number;
  /** A job id: opaque, and no authorization by itself. */
  job_id: string;
  receipt_sha256: string;
  /** The digest of `output/verdict.json`, an output of that job. */
  verdict_sha256: string;
}

export interface GradingEvent {
  /** 1 for the first event of a grading. */
  seq: number;
  /** UTC with milliseconds. */
  timestamp: string;
  kind: 'job' | 'program' | 'finished';
  data: {
    /** Its place in `programs`, from 0. */
    program?: number;
    /** The role of the job, such as `test 3`, or the name of the program. */
    name?: string | null;
    /** The name of the test that the job ran. */
    test?: string | null;
    /** A job id: opaque, and no authorization by itself. */
    job_id?: string;
    terminal_reason?: string | null;
    language?: Language;
    status?: string;
    verdict?: ProgramVerdict | null;
    problem?: string | null;
  };
}

export interface GradingEvents {
  items: Array<GradingEvent>;
  /** Null once the last event was given. */
  next_cursor: number | null;
}

export interface LinkRequest {
  /** Seconds until it ends; 86400 if omitted. It ends earlier with the credential that made it. */
  expires_in?: number;
  /**
   * What it shows beside status, output, receipt and attestation: the `code`; the `input`, which is
   * arguments, variables, standard input and files; and the `files` that the program left.
   */
  shows?: Array<'code' | 'input' | 'files'>;
}

export interface Link {
  link_id: string;
  /** A job id: opaque, and no authorization by itself. */
  job_id: string;
  principal: string;
  /**
   * What it shows beside status, output, receipt and attestation: the `code`; the `input`, which is
   * arguments, variables, standard input and files; and the `files` that the program left.
   */
  shows: Array<'code' | 'input' | 'files'>;
  /** UTC with milliseconds. */
  created_at: string;
  /** UTC with milliseconds. */
  expires_at: string;
}

export interface NewLink {
  link_id: string;
  /** A job id: opaque, and no authorization by itself. */
  job_id: string;
  principal: string;
  /**
   * What it shows beside status, output, receipt and attestation: the `code`; the `input`, which is
   * arguments, variables, standard input and files; and the `files` that the program left.
   */
  shows: Array<'code' | 'input' | 'files'>;
  /** UTC with milliseconds. */
  created_at: string;
  /** UTC with milliseconds. */
  expires_at: string;
  /** Relative to the service. */
  link_url: string;
}

export interface LinkList {
  items: Array<Link>;
  /**
   * Whether the caller may make a link to the job: it submitted the job, and the operator allows links.
   * Absent in answers of older services.
   */
  may_make?: boolean;
}

export interface LinkRevocation {
  link_id: string;
  revoked: true;
}

export interface LinkedJob {
  /** A job id: opaque, and no authorization by itself. */
  job_id: string;
  status: JobStatus;
  language: Language;
  runtime: string | null;
  /** UTC with milliseconds. */
  created_at: string;
  /** UTC with milliseconds. */
  started_at: string | null;
  /** UTC with milliseconds. */
  finished_at: string | null;
  duration_ms: number | null;
  exit_code: number | null;
  terminal_reason: TerminalReason | null;
  tenant: string;
  signal: string | null;
  attestation_available: boolean;
  requested_spec: StoredSpec;
  receipt?: Receipt;
  receipt_sha256?: string;
  /**
   * What it shows beside status, output, receipt and attestation: the `code`; the `input`, which is
   * arguments, variables, standard input and files; and the `files` that the program left.
   */
  shows: Array<'code' | 'input' | 'files'>;
  /** UTC with milliseconds. */
  expires_at: string;
}

export interface SubmissionAnswer {
  /** A job id: opaque, and no authorization by itself. */
  job_id: string;
  status: 'queued';
  /** UTC with milliseconds. */
  created_at: string;
  /** Relative to the service. */
  stream_url: string;
  /** Relative to the service. */
  history_url: string;
  /** Relative to the service. */
  result_url: string;
  interaction?: Interaction;
  result?: FoldedResult;
  receipt?: Receipt;
  detail?: JobDetail;
  history?: ReplayPage;
  promise?: DsseEnvelope;
  stream_ticket?: StreamTicket;
}

export interface JobDetail {
  /** A job id: opaque, and no authorization by itself. */
  job_id: string;
  status: JobStatus;
  language: Language;
  runtime: string | null;
  /** UTC with milliseconds. */
  created_at: string;
  /** UTC with milliseconds. */
  started_at: string | null;
  /** UTC with milliseconds. */
  finished_at: string | null;
  duration_ms: number | null;
  exit_code: number | null;
  terminal_reason: TerminalReason | null;
  tenant: string;
  signal: string | null;
  cancellation_requested: boolean;
  requested_spec: StoredSpec;
  effective_spec: EffectiveSpec | null;
  backend: Backend | null;
  bootstrap_ready: boolean | null;
  networking: Networking | null;
  network_allowed: boolean | null;
  private_rootfs: boolean | null;
  dedicated_bootstrap: boolean | null;
  seccomp: SeccompMode | null;
  limit_enforcement: LimitEnforcement | null;
  /**
   * Large outputs that came back, each to be fetched by its digest. Absent unless the submission asked
   * for some.
   */
  large_outputs?: Array<ArtifactRecord>;
  attestation: AttestationMember;
  receipt?: Receipt;
  receipt_sha256?: string;
}

export interface JobListItem {
  /** A job id: opaque, and no authorization by itself. */
  job_id: string;
  status: JobStatus;
  language: Language;
  runtime: string | null;
  /** UTC with milliseconds. */
  created_at: string;
  /** UTC with milliseconds. */
  started_at: string | null;
  /** UTC with milliseconds. */
  finished_at: string | null;
  duration_ms: number | null;
  exit_code: number | null;
  terminal_reason: TerminalReason | null;
  truncated: boolean;
  attestation_available: boolean;
  labels?: Array<string>;
  /**
   * The first line of the code that has a letter or a digit and does not begin with `#!`: its printable
   * part, cut at 120 characters. Absent if there is none, and in jobs of older versions.
   */
  first_line?: string;
}

export interface JobList {
  items: Array<JobListItem>;
  /** Null on the last page. */
  next_cursor: string | null;
}

export interface StoredSpec {
  language?: Language;
  code?: string;
  stdin?: string | null;
  /** The bytes that `stdin` named; `stdin` is null then. */
  named_stdin?: {
    /** In place of the content: an output of another job of the tenant. */
    from?: OutputName;
    /** In place of the content: an upload, or an output of a job, as `sha256:` and its digest. */
    blob: string;
  };
  /** Arguments of the program; at most 4 KiB each and 32 KiB together as UTF-8, without NUL. */
  args?: Array<string>;
  /**
   * Environment variables; at most 4 KiB each and 32 KiB together as UTF-8, without NUL. The fixed ones
   * cannot be set, nor those that a loader or an interpreter reads at its start: PATH, HOME, LANG,
   * USER, LOGNAME, SHELL, PWD, TMPDIR, MPLCONFIGDIR, LD_*, GLIBC_TUNABLES, MALLOC_*, GCONV_PATH,
   * LOCPATH, NLSPATH, OPENSSL_*, BASH_ENV, BASHOPTS, SHELLOPTS, BASH_FUNC_*, ENV, POSIXLY_CORRECT,
   * PYTHON*, NODE_*, PERL*, RUBY*, GEM_*, BUNDLE_*, LUA_*, PHPRC, PHP_INI_SCAN_DIR, R_*,
   * JAVA_TOOL_OPTIONS, JDK_JAVA_OPTIONS, _JAVA_OPTIONS, CLASSPATH.
   */
  env?: Record<string, string>;
  files?: Array<InputFile | UploadedFile | ResolvedOutput | HeldFile>;
  outputs?: Array<string>;
  large_outputs?: {
    paths: Array<string>;
    stdout: string | null;
    max_bytes: number;
  };
  build?: {
    options: Array<string>;
  };
  product?: {
    job_id: string;
    pack_digest: string;
  };
  runtime?: string | null;
  requirements?: {
    minimum_isolation: IsolationClass;
    enforced?: Array<'wall_seconds' | 'cpu_seconds' | 'mem_mb' | 'max_pids' | 'max_file_mb'>;
  };
  limits?: {
    wall_seconds?: number;
    cpu_seconds?: number;
    mem_mb?: number;
    max_pids?: number;
    max_file_mb?: number;
  };
  reproducible?: true;
  interaction?: Interaction;
  promise?: true;
  labels?: Array<string>;
  sign_labels?: true;
  /**
   * A step of a session: the files of `/work` and the values that the step before left are loaded before
   * the program, and kept after it if it succeeds. Not for compiled languages.
   */
  session?: SessionStep;
  tools?: {
    tools: Array<Tool>;
    answered_by: Array<string>;
    limits: ToolLimits;
  };
}

export interface RequestedLimits {
  wall_seconds: number;
  cpu_seconds: number;
  mem_mb: number;
  max_pids: number;
  max_file_mb: number;
}

export interface EffectiveSpec {
  isolation_class: IsolationClass | null;
  limits: EffectiveLimits;
}

export interface EffectiveLimits {
  wall_seconds: number | null;
  cpu_seconds: number | null;
  mem_mb: number | null;
  max_pids: number | null;
  max_file_mb: number | null;
}

export interface LimitEnforcement {
  wall_seconds: boolean;
  cpu_seconds: boolean;
  mem_mb: boolean;
  max_pids: boolean;
  max_file_mb: boolean;
}

export interface AttestationMember {
  /** May be false just after the end: signing is asynchronous. */
  available: boolean;
  /** The tenant bound into the signed evidence. */
  tenant: string | null;
  /** `sha256:` and the SHA-256 of the key as SPKI DER. */
  key_id: string | null;
  receipt_sha256: string | null;
  result_media_type: string | null;
  result_sha256: string | null;
  result_size_bytes: number | null;
  envelope_sha256: string | null;
  envelope_size_bytes: number | null;
  /** Relative to the service. */
  envelope_url: string | null;
  /** Relative to the service. */
  result_artifact_url: string | null;
}

export interface Receipt {
  schema_version: number;
  /** A job id: opaque, and no authorization by itself. */
  job_id: string;
  status: TerminalStatus;
  exit_code: number | null;
  signal: string | null;
  terminal_reason: TerminalReason | null;
  /** UTC with milliseconds. */
  created_at: string;
  /** UTC with milliseconds. */
  started_at: string | null;
  /** UTC with milliseconds. */
  finished_at: string;
  duration_ms: number | null;
  event_chain: EventChain;
  receipt_sha256: string;
  tenant?: string;
  language?: string;
  runtime?: string | null;
  code_sha256?: string;
  stdin_sha256?: string | null;
  args_sha256?: string | null;
  env_sha256?: string | null;
  policy_sha256?: string;
  requested_limits?: RequestedLimits;
  build?: {
    options: Array<string>;
  };
  product?: {
    job_id: string;
    pack_digest: string;
  };
  reproducible?: true;
  labels?: Array<string>;
  tool_limits?: ToolLimits;
  interaction?: {
    /** A job id: opaque, and no authorization by itself. */
    peer: string;
    role: 'program' | 'interactor';
    stdin?: {
      bytes_delivered: number;
      raw_sha256: string;
    };
    end?: 'first' | 'second' | 'deadlock';
  };
  truncated?: boolean;
  output?: OutputEvidence;
  input_artifacts?: Array<ArtifactRecord>;
  output_artifacts?: Array<ArtifactRecord>;
  large_outputs?: Array<ArtifactRecord>;
  bootstrap_ready?: boolean;
  backend?: Backend;
  runtime_identity?: RuntimeIdentity;
  runtime_pack?: {
    name: string;
    version: string;
    digest: string;
  } | null;
  isolation_class?: IsolationClass | null;
  private_rootfs?: boolean;
  dedicated_bootstrap?: boolean;
  seccomp?: SeccompMode | null;
  no_new_privileges?: boolean | null;
  /** The effective set as hex, 0 when empty. */
  capabilities?: string | null;
  network_allowed?: boolean | null;
  networking?: Networking | null;
  effective_limits?: EffectiveLimits;
  limit_enforcement?: LimitEnforcement;
  host_posture_sha256?: string | null;
  resource_usage?: ResourceUsage;
  program_usage?: ProgramUsage;
  executor_output?: ExecutorOutput;
}

export interface EventChain {
  hash_version: number;
  genesis: string;
  head: string;
  count: number;
  /** No unhashed event was stored. Not a verification: recompute every link. */
  complete: boolean;
}

export interface OutputEvidence {
  encoding: 'utf8-event-lines-joined-by-lf-no-trailing-lf';
  stdout_bytes: number;
  stdout_records: number;
  stdout_sha256: string;
  stderr_bytes: number;
  stderr_records: number;
  stderr_sha256: string;
}

export interface ExecutorOutput {
  stdout: StreamTelemetry;
  stderr: StreamTelemetry;
}

export interface StreamTelemetry {
  bytes_seen: number;
  bytes_offered_to_sink: number;
  records_offered_to_sink: number;
  raw_sha256: string;
  executor_truncated: boolean;
}

export interface FoldedResult {
  /** A job id: opaque, and no authorization by itself. */
  job_id: string;
  status: JobStatus;
  exit_code: number | null;
  duration_ms: number | null;
  stdout: string;
  stderr: string;
  truncated: boolean;
  violations: Array<Violation>;
  artifacts: Array<Artifact>;
  /**
   * Large outputs that came back, each to be fetched by its digest. Absent unless the submission asked
   * for some.
   */
  large_outputs?: Array<ArtifactRecord>;
}

export interface Artifact {
  path: string;
  content_base64: string;
  size_bytes: number;
  sha256: string;
}

export interface Violation {
  type: ViolationType;
  message: string;
  path?: string;
  limit?: number;
  observed?: number;
  phase?: 'compile';
}

export interface ReplayPage {
  events: Array<JobEvent>;
  next_cursor: number | null;
}

export interface EndingPage {
  events: Array<JobEvent>;
  next_cursor: number | null;
  result?: FoldedResult;
  receipt?: Receipt;
}

export interface StreamTicket {
  ticket: string;
  /** Relative to the service. */
  stream_url: string;
  /** UTC with milliseconds. */
  expires_at: string;
  expires_in: number;
}

export interface EndFrame {
  result?: FoldedResult;
  receipt?: Receipt;
}

export interface DsseEnvelope {
  payload: string;
  payloadType: string;
  signatures: Array<{
    keyid: string;
    sig: string;
  }>;
}

export interface PendingStatement {
  /** UTC with milliseconds. */
  stated_at: string;
  /** UTC with milliseconds. */
  answer_by: string;
  envelope: DsseEnvelope;
  /** The proof, as a job's `log-proof` has it; null until the log has the statement. */
  log_proof: string | null;
}

export interface PendingStatements {
  items: Array<PendingStatement>;
}

export interface ResultArtifact {
  _type: string;
  schema_version: number;
  tenant: string;
  job_id: string;
  status: TerminalStatus;
  exit_code: number | null;
  signal: string | null;
  terminal_reason: TerminalReason | null;
  /** UTC with milliseconds. */
  created_at: string;
  /** UTC with milliseconds. */
  started_at: string | null;
  /** UTC with milliseconds. */
  finished_at: string;
  duration_ms: number | null;
  receipt_sha256: string;
  stdout: string;
  stderr: string;
  truncated: boolean;
  violations: Array<Violation>;
}

export interface PublicKey {
  key_id: string;
  algorithm: 'Ed25519';
  public_key_pem: string;
  trust_notice: string;
}

export interface Capabilities {
  version: string;
  languages: Array<Language>;
  isolation_class: IsolationClass | null;
  enforced?: Array<'wall_seconds' | 'cpu_seconds' | 'mem_mb' | 'max_pids' | 'max_file_mb'>;
  limits: {
    defaults: RequestedLimits;
    ceilings: RequestedLimits;
  };
  tools?: {
    max_tools: number;
    max_schema_bytes: number;
    max_schema_depth: number;
    max_principals: number;
    limits: {
      defaults: ToolLimits;
      ceilings: ToolLimits;
    };
  };
  artifacts: {
    max_files: number;
    max_file_bytes: number;
    max_total_bytes: number;
  };
  blobs: {
    max_blob_bytes: number;
    max_job_bytes: number;
    max_blobs: number;
    max_total_bytes: number;
    keep_seconds: number;
  };
  libraries?: {
    max_packed_bytes: number;
    max_bytes: number;
    max_entries: number;
  };
  concurrent_mem_mb_max: number;
  per_tenant: {
    waits_max: number;
    queue_max: number;
    requests_per_second: number;
    requests_burst: number;
  };
  runtime_packs: Array<RuntimePack>;
  features: Array<string>;
  signer: {
    key_id: string;
    algorithm: string;
  } | null;
}

export interface RuntimePack {
  name: string;
  version: string;
  languages: Array<Language>;
  digest: string;
  /**
   * Its libraries, as they were found when it was built. Absent for the pack `system`, whose libraries
   * are those of the host, and of a pack that an earlier version built.
   */
  libraries?: Array<PackLibrary>;
}

export interface PackLibrary {
  /** `python`, or `node` for JavaScript and TypeScript. */
  language: string;
  name: string;
  /** Null if the library does not state it. */
  version: string | null;
  modules: Array<string>;
}

export interface Whoami {
  tenant: string;
  principal: string;
  auth_method: AuthMethod;
  credential_id: string;
  scopes: Array<Scope>;
  /** UTC with milliseconds. */
  expires_at: string | null;
}

export interface ServiceStatus {
  status: 'ok' | 'draining' | 'unavailable';
  version: string;
  uptime_seconds: number;
  queue: {
    depth: number;
    capacity: number;
    oldest_age_ms: number | null;
  };
  running: number;
  draining: boolean;
  signer: {
    enabled: boolean;
    outbox_depth: number;
    last_error: string | null;
    /** UTC with milliseconds. */
    last_error_at: string | null;
  };
  log: {
    origin: string;
    size: number;
    signed_size: number;
    waiting: number;
    last_error: string | null;
    /** UTC with milliseconds. */
    last_error_at: string | null;
    witnesses: Array<{
      name: string;
      state: string;
    }>;
  } | null;
  provider: {
    backend: Backend | null;
    isolation_class: IsolationClass | null;
    ready: boolean;
    passed_over: string | null;
  };
  parked: {
    cells: number;
    mem_mb: number;
    mem_mb_max: number;
  };
  object_store: {
    reachable: boolean;
    to_move: number;
    to_remove: number;
    missing: number;
    damaged: number;
  } | null;
  /** Empty if no canaries are sent, or none has ended yet. */
  canaries?: Array<{
    isolation_class: IsolationClass;
    runtime_pack: string;
    /** A job id: opaque, and no authorization by itself. */
    job_id: string;
    /** UTC with milliseconds. */
    finished_at: string;
    problem: string | null;
    node?: number;
  }>;
  /**
   * What the answering node counted since its start, at most 60 minutes, the oldest first: the jobs of
   * every tenant that waited and ran, and of your own jobs how they ended here, and how long they
   * waited and ran. An earlier version lacks it.
   */
  last_hour?: {
    /** UTC with milliseconds. */
    from: string;
    queued: Array<number | null>;
    running: Array<number | null>;
    ended: {
      succeeded: Array<number>;
      failed: Array<number>;
      timed_out: Array<number>;
      oom_killed: Array<number>;
      cancelled: Array<number>;
      error: Array<number>;
    };
    wait_ms: {
      p50: Array<number | null>;
      p95: Array<number | null>;
    };
    run_ms: {
      p50: Array<number | null>;
      p95: Array<number | null>;
    };
  };
  nodes?: Array<{
    node: number;
    version: string;
    roles: Array<'api' | 'executor' | 'signer'>;
    isolation_class: IsolationClass | null;
    slots: number;
    slots_used: number;
    claims: number;
    signs: boolean;
    /** UTC with milliseconds. */
    last_beat_at: string | null;
  }>;
}

export interface Health {
  status: 'ok';
}

export interface Readiness {
  status: 'ready' | 'unready';
  checks: {
    store: boolean;
    provider: boolean;
    free_space: boolean;
    accepting: boolean;
  };
}

export interface ArtifactRecord {
  path: string;
  size_bytes: number;
  sha256: string;
}

export interface OutputRecord {
  text: string;
  partial?: true;
}

export interface Truncation {
  stream: StreamName;
  bytes_seen: number;
  bytes_stored: number;
  records_stored: number;
  limit_bytes: number;
  limit_records: number;
}

export interface ResourceUsage {
  wall_ms: number | null;
  cpu_ms: number | null;
  memory_peak_bytes: number | null;
}

export interface ProgramUsage {
  wall_ms: number | null;
  cpu_ms: number | null;
  memory_peak_bytes: number | null;
  account: 'cell' | 'guest';
}

export interface RuntimeIdentity {
  name: string;
  version: string | null;
  platform: string | null;
}

/** The job as it now is. */
export interface CancellationAnswer extends JobDetail {
  /** Whether it had ended before the request. */
  already_terminal: boolean;
}

/** The data of each kind of event. */
export interface EventData {
  queued: {
    language: Language;
    runtime: string | null;
    requirements: {
      minimum_isolation: IsolationClass;
      enforced?: Array<'wall_seconds' | 'cpu_seconds' | 'mem_mb' | 'max_pids' | 'max_file_mb'>;
    };
    limits: RequestedLimits;
  };
  started: {
    backend: Backend;
    isolation_class: IsolationClass | null;
    bootstrap_ready: boolean;
    limits: EffectiveLimits;
  };
  cancel_requested: {
    principal: string;
  };
  stdout: OutputRecord;
  stderr: OutputRecord;
  artifact: ArtifactRecord;
  large_output: ArtifactRecord;
  violation: Violation;
  truncated: Truncation;
  tool_call: {
    call: number;
    tool: string;
    arguments: unknown;
    refused?: string;
  };
  tool_result: {
    call_seq: number;
    result?: unknown;
    error?: string;
    principal: string;
  };
  finished: {
    status: TerminalStatus;
    exit_code: number | null;
    signal: string | null;
    terminal_reason: TerminalReason;
    duration_ms: number | null;
  };
}

export type EventKind = keyof EventData;

/** An event's kind that is not a known one. It is text: compare it as `String(event.kind)`. */
export declare enum UnknownKind {
  any = 'a kind that this version of the client does not know',
}

interface EventMembers {
  job_id: string;
  /** 1 for the first event of a job. */
  seq: number;
  timestamp: string;
  hash_version: number;
  prev_hash: string | null;
  event_hash: string | null;
}

/** An event of a known kind. */
export type KnownEvent = { [Kind in EventKind]: EventMembers & { kind: Kind; data: EventData[Kind] } }[EventKind];

/** An event of a kind that a newer service added. It comes unchanged. */
export type UnknownEvent = EventMembers & { kind: UnknownKind; data: unknown };

/** An event of a job's history. `kind` says what `data` is. */
export type JobEvent = KnownEvent | UnknownEvent;
