/** Drives a grading as a service does, and collects the evidence for a verifier. */
import type { JobSubmission, RunResult, ServiceClient } from '@vouchbox/client';
import { exportFiles } from '@vouchbox/evidence';
import { GRADING_FILE, VERDICT_FILE } from '@vouchbox/protocol/grading';
import {
  type Abilities,
  endOf,
  type Grading2,
  gradingOf,
  type JobEnd,
  type JobText,
  JUDGE_2,
  type Known,
  nextJobs,
  type PlannedSubmission,
  SCORE_FILES,
  type Verdict2,
} from '@vouchbox/protocol/grading-steps';
import { type ExportFiles, ownBytes, type Report, type VerdictFiles, verifyVerdict } from '@vouchbox/verifier';
import { readFromService } from '../../packages/cli/src/service-export.ts';

export interface DrivenGrading {
  readonly verdict: Verdict2;
  readonly files: VerdictFiles;
  readonly grading: Grading2;
  readonly ends: ReadonlyMap<string, JobEnd>;
}

const TODAY: Abilities = { large_outputs: true, build: false };

/** Submits every job that is due, round after round. */
export async function driveGrading(
  client: ServiceClient,
  { plan, program }: Pick<Known, 'plan' | 'program'>,
): Promise<DrivenGrading> {
  const ends = new Map<string, JobEnd>();
  const known = { plan, program, ends, abilities: TODAY };
  for (;;) {
    const due = nextJobs(known);
    const grading = gradingOf(known);
    if (grading !== null) return { ...(await judgeGrading(client, grading, [...ends.values()])), grading, ends };
    const runs = due.map(async ({ name, submission }) => {
      const ran = await client.run(submissionOf(submission), { outputs: submission.outputs });
      ends.set(
        name,
        endOf(ran, (path) => textOf(ran, path)),
      );
    });
    await Promise.all(runs);
  }
}

/** Runs the judge on a grading. The grading may be forged. */
export async function judgeGrading(
  client: ServiceClient,
  grading: Grading2,
  ends: readonly JobEnd[],
): Promise<Pick<DrivenGrading, 'verdict' | 'files'>> {
  const given = { files: { [GRADING_FILE]: JSON.stringify(grading) }, outputs: [VERDICT_FILE] };
  const judged = await client.run(JUDGE_2, given);
  const bytes = judged.files.get(VERDICT_FILE);
  if (bytes === undefined) throw new Error(`the judge gave no verdict: ${judged.stderr}`);
  const jobs = new Map<string, ExportFiles>();
  for (const { job_id } of ends) jobs.set(job_id, await evidenceOf(client, job_id));
  const files = { verdict: bytes, judge: await evidenceOf(client, judged.job_id), jobs };
  return { verdict: JSON.parse(Buffer.from(bytes).toString()), files };
}

/** The evidence for the first program in a grading made by the service, once the grading has ended. */
export async function filesOfGrading(client: ServiceClient, grading_id: string): Promise<VerdictFiles> {
  const { graded } = await client.waitForGrading(grading_id);
  const judge = String(graded[0]?.verdict?.job_id);
  const jobs = new Map<string, ExportFiles>();
  for await (const { kind, data } of client.gradingEvents(grading_id)) {
    const { job_id = '', program } = data;
    if (kind !== 'job' || program !== 0 || job_id === judge) continue;
    jobs.set(job_id, await evidenceOf(client, job_id));
    const { interaction } = (await client.detail(job_id)).requested_spec;
    if (interaction !== undefined) jobs.set(interaction.peer, await evidenceOf(client, interaction.peer));
  }
  const { artifacts } = await client.result(judge);
  const verdict = Buffer.from(artifacts[0]?.content_base64 ?? '', 'base64');
  return { verdict: Uint8Array.from(verdict), judge: await evidenceOf(client, judge), jobs };
}

/** An export without the program and its tests. */
async function evidenceOf(client: ServiceClient, job_id: string): Promise<ExportFiles> {
  const { source } = await readFromService(job_id, client, { publicKeys: [] });
  return ownBytes(exportFiles({ ...source, blobs: new Map() }, { program: 'left_out' }));
}

export async function verified(client: ServiceClient, files: VerdictFiles): Promise<Report> {
  const { public_key_pem } = await client.publicKey();
  return await verifyVerdict(files, { publicKeys: [public_key_pem], tenant: 'alpha' });
}

/** The checks that fail for these files. */
export async function problemsOf(client: ServiceClient, files: VerdictFiles): Promise<readonly string[]> {
  const { checks } = await verified(client, files);
  return checks.flatMap(({ name, isGood, detail }) => (isGood ? [] : [`${name}: ${detail}`]));
}

function submissionOf({ stdin, files = [], outputs, ...others }: PlannedSubmission): JobSubmission {
  const listed = files.map(({ path, ...text }) =>
    'from' in text ? { path, from: text.from } : { path, content_base64: Buffer.from(given(text)).toString('base64') },
  );
  const known = { ...others, ...(stdin && { stdin: given(stdin) }), files: listed, outputs };
  return JSON.parse(JSON.stringify(known));
}

function given(text: JobText): string {
  if (!('text' in text)) throw new Error('a text by digest is not for this driver');
  return text.text;
}

function textOf({ files }: RunResult, path: string): string | undefined {
  const bytes = SCORE_FILES.some(([name]) => name === path) ? files.get(path) : undefined;
  return bytes && Buffer.from(bytes).toString();
}
