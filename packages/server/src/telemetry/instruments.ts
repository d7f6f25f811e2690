/**
 * The service's meters, in one registry. Names of counters, and no other names, end in `_total`. Every label takes its
 * values from the contract or the source code, never from a caller. So the number of series is fixed, and all series
 * exist from the first scrape on.
 */
import { Counter, Gauge, Histogram, type Registry } from '@prometheus-io/client';
import { LANGUAGES, OPERATIONS, type Operation, TERMINAL_STATUSES } from '@vouchbox/protocol';

/** The label for requests that match no operation. */
export const UNROUTED = 'none';

/** The status label for an answer whose client left before the answer's end. */
export const ABORTED = 'aborted';

const requestSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const jobSeconds = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const commitSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];
const prepareSeconds = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The contract's methods and paths, each pair once. */
const ROUTES = Object.values<Operation>(OPERATIONS).map(({ method, path }) => ({ method, route: path }));

export type Instruments = ReturnType<typeof createInstruments>;

/** Registers every meter, and every series whose labels are known at the start. */
export function createInstruments(registry: Registry) {
  const registers = [registry];
  const gauge = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Gauge({ name, help, labelNames, registers });
  const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers });
  const histogram = <Label extends string>(name: string, help: string, buckets: number[], ...labelNames: Label[]) =>
    new Histogram({ name, help, labelNames, buckets, registers });
  const instruments = {
    build: gauge('svc_build_info', 'Always 1; the labels say what runs.', 'version', 'backend', 'isolation_class'),
    uptime: gauge('svc_uptime_seconds', 'For how long the service has been running.'),
    draining: gauge('svc_draining', '1 while the service is stopping.'),
    storeReady: gauge('svc_store_ready', '1 if the store answered this scrape; otherwise its series are missing.'),
    jobsAdmitted: counter('svc_jobs_admitted_total', 'Jobs stored, without replays of an idempotency key.', 'language'),
    jobsEnded: counter('svc_jobs_ended_total', 'Jobs that became terminal.', 'language', 'status'),
    jobDuration: histogram('svc_job_duration_seconds', 'Run time of programs that ran.', jobSeconds, 'language'),
    queueSeconds: histogram('svc_job_queue_seconds', 'From the submission of a job to its start.', requestSeconds),
    queued: gauge('svc_jobs_queued', 'Jobs that wait for a slot.'),
    queueCapacity: gauge('svc_queue_capacity', 'Jobs that may wait for a slot.'),
    oldestQueued: gauge('svc_queue_oldest_age_seconds', 'Age of the oldest job that waits; 0 if no job waits.'),
    running: gauge('svc_jobs_running', 'Jobs that run.'),
    slots: gauge('svc_job_slots', 'Jobs that may run at once.'),
    fleetNodes: gauge('svc_fleet_nodes', 'Living nodes of a service that has several, by role.', 'role'),
    fleetSlots: gauge('svc_fleet_job_slots', 'Jobs that all living nodes may run at once.'),
    fleetClaims: gauge('svc_fleet_claims', 'Jobs that living nodes have taken and that have not ended.'),
    lateBeats: counter(
      'svc_node_lease_renewals_late_total',
      'Renewals of the lease of this node that came more than a second late.',
    ),
    recoveredJobs: counter(
      'svc_fleet_jobs_recovered_total',
      'Jobs that this node took over from lost nodes, and ended or gave back to the queue.',
    ),
    outbox: gauge('svc_attestation_outbox_depth', 'Terminal jobs whose attestation is not stored yet.'),
    logLeaves: gauge('svc_log_leaves', 'Leaves of the log that have a place.'),
    logSignedLeaves: gauge('svc_log_signed_leaves', 'Leaves under the last signed head of the log.'),
    logWaiting: gauge('svc_log_waiting', 'Signed statements that wait for their place in the log.'),
    contentsToMove: gauge('svc_object_store_contents_to_move', 'Large contents that are not in the object store yet.'),
    objectsToRemove: gauge('svc_object_store_objects_to_remove', 'Objects that no job uses and that are still stored.'),
    objectProblems: counter(
      'svc_object_store_problems_total',
      'Needed objects that were missing or changed.',
      'problem',
    ),
    sandboxPrepare: histogram(
      'svc_sandbox_prepare_seconds',
      'Time until a cell was ready for its program, or had failed.',
      prepareSeconds,
      'result',
    ),
    parkedCells: gauge('svc_parked_cells', 'Parked cells.', 'language'),
    parkedBytes: gauge('svc_parked_bytes', 'Memory of parked cells.'),
    parkedBytesMax: gauge('svc_parked_limit_bytes', 'Memory that parked cells may take.'),
    cellsTaken: counter(
      'svc_cells_taken_total',
      'Cells that jobs got: `parked` had waited, `awaited` was already being made, `cold` was made for the job.',
      'how',
    ),
    cellsLost: counter(
      'svc_parked_cells_lost_total',
      'Cells that no job got: they `died` while parked, their runtime `changed`, or they were `surplus`.',
      'why',
    ),
    storeCommit: histogram(
      'svc_store_commit_seconds',
      'Time until a change of a job was on disk, including the wait for the writer.',
      commitSeconds,
    ),
    permits: gauge('svc_permits_in_use', 'Permits held.', 'kind'),
    permitsMax: gauge('svc_permits_limit', 'Permits that may be held.', 'kind'),
    requests: counter('svc_http_requests_total', 'Requests answered.', 'method', 'route', 'status'),
    requestDuration: histogram(
      'svc_http_request_duration_seconds',
      'From the head of a request to the last byte of its answer; waits and streams included.',
      requestSeconds,
      'method',
      'route',
    ),
    headsRefused: counter(
      'svc_http_heads_refused_total',
      'Requests refused before they were parsed: heads that break HTTP, or are too large or too slow.',
      'status',
    ),
    connectionsRefused: counter(
      'svc_http_connections_refused_total',
      'Connections refused or closed for lack of room.',
    ),
    cpu: counter('process_cpu_seconds_total', 'CPU time of this process.'),
    memory: gauge('process_resident_memory_bytes', 'Resident memory of this process.'),
    heap: gauge('nodejs_heap_size_used_bytes', 'Used heap of this process.'),
    startTime: gauge('process_start_time_seconds', 'When this process started, as seconds of the Unix epoch.'),
    loopDelay: gauge(
      'nodejs_eventloop_lag_p99_seconds',
      'Delay of the event loop since the last scrape, 99th percentile.',
    ),
  };
  for (const language of LANGUAGES) {
    instruments.jobsAdmitted.inc({ language }, 0);
    instruments.jobDuration.zero({ language });
    instruments.parkedCells.set({ language }, 0);
    for (const status of TERMINAL_STATUSES) instruments.jobsEnded.inc({ language, status }, 0);
  }
  for (const labels of ROUTES) instruments.requestDuration.zero(labels);
  for (const result of ['ready', 'failed']) instruments.sandboxPrepare.zero({ result });
  return instruments;
}

/** A request's labels: its method and route if the contract has this route. All other requests share one label. */
export function routeLabels(method: string, route: string | null): { method: string; route: string } {
  const known = ROUTES.some((labels) => labels.method === method && labels.route === route);
  return known && route !== null ? { method, route } : { method: UNROUTED, route: UNROUTED };
}
