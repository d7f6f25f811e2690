/** The schemas that the OpenAPI document names, and the code that replaces each use of one with a reference. */

import { StoredBlob } from './blob.ts';
import { ErrorEnvelope } from './error-envelope.ts';
import * as events from './events.ts';
import * as evidence from './evidence.ts';
import * as gradings from './gradings.ts';
import * as job from './job.ts';
import * as links from './links.ts';
import * as receipt from './receipt.ts';
import * as service from './service.ts';
import * as sessions from './sessions.ts';
import * as submission from './submission.ts';
import * as tools from './tools.ts';
import type { TSchema } from './type.ts';

export const COMPONENT_SCHEMAS = {
  JobSubmission: submission.JobSubmission,
  Interactor: submission.Interactor,
  Interaction: submission.Interaction,
  InputFile: submission.InputFile,
  UploadedFile: submission.UploadedFile,
  OutputFile: submission.OutputFile,
  OutputName: submission.OutputName,
  ResolvedOutput: submission.ResolvedOutput,
  HeldFile: submission.HeldFile,
  LimitsInput: submission.LimitsInput,
  StoredBlob,
  Tool: tools.Tool,
  ToolCalls: tools.ToolCalls,
  ToolAnswer: tools.ToolAnswer,
  ToolAnswerTaken: tools.ToolAnswerTaken,
  StreamedToolAnswer: tools.StreamedToolAnswer,
  AnswerRefused: tools.AnswerRefused,
  ToolLimits: tools.ToolLimitsSchema,
  GradingSubmission: gradings.GradingSubmission,
  GradingProgram: gradings.GradingProgram,
  GradingTest: gradings.GradingTest,
  GradingAnswer: gradings.GradingAnswer,
  GradingItem: gradings.GradingItem,
  GradingList: gradings.GradingList,
  Session: sessions.Session,
  SessionList: sessions.SessionList,
  SessionRemoval: sessions.SessionRemoval,
  SessionStep: sessions.SessionStep,
  Libraries: submission.Libraries,
  GradingDetail: gradings.GradingDetail,
  GradingCancellation: gradings.GradingCancellation,
  ProgramState: gradings.ProgramState,
  ProgramVerdict: gradings.ProgramVerdict,
  GradingEvent: gradings.GradingEvent,
  GradingEvents: gradings.GradingEvents,
  LinkRequest: links.LinkRequest,
  Link: links.Link,
  NewLink: links.NewLink,
  LinkList: links.LinkList,
  LinkRevocation: links.LinkRevocation,
  LinkedJob: links.LinkedJob,
  SubmissionAnswer: job.AwaitedSubmission,
  JobDetail: job.JobDetail,
  CancellationAnswer: job.CancellationAnswer,
  JobListItem: job.JobListItem,
  JobList: job.JobList,
  StoredSpec: submission.StoredSpec,
  RequestedLimits: submission.RequestedLimitsSchema,
  EffectiveSpec: job.EffectiveSpec,
  EffectiveLimits: events.EffectiveLimitsSchema,
  LimitEnforcement: receipt.LimitEnforcementSchema,
  AttestationMember: job.AttestationMember,
  Receipt: receipt.AnyReceipt,
  EventChain: receipt.EventChain,
  OutputEvidence: receipt.OutputEvidence,
  ExecutorOutput: receipt.ExecutorOutput,
  StreamTelemetry: receipt.StreamTelemetry,
  FoldedResult: job.FoldedResult,
  Artifact: job.Artifact,
  Violation: events.Violation,
  JobEvent: events.JobEvent,
  ReplayPage: events.ReplayPage,
  EndingPage: job.EndingPage,
  StreamTicket: job.StreamTicket,
  EndFrame: job.EndFrame,
  DsseEnvelope: evidence.DsseEnvelope,
  PendingStatement: evidence.PendingStatement,
  PendingStatements: evidence.PendingStatements,
  ResultArtifact: evidence.ResultArtifact,
  PublicKey: service.PublicKey,
  Capabilities: service.Capabilities,
  RuntimePack: service.RuntimePack,
  PackLibrary: service.PackLibrary,
  Whoami: service.Whoami,
  ServiceStatus: service.ServiceStatus,
  Health: service.Health,
  Readiness: service.Readiness,
  ErrorEnvelope,
} satisfies Record<string, TSchema>;

/** Schemas are recognised by their JSON text, not by identity, because marking a schema as optional copies it. */
const NAME_BY_TEXT = new Map(Object.entries(COMPONENT_SCHEMAS).map(([name, schema]) => [JSON.stringify(schema), name]));

export function schemaReference(name: string): { $ref: string } {
  return { $ref: `#/components/schemas/${name}` };
}

/**
 * A schema as plain JSON. Named schemas inside it become references. While the definition of a name is written, `definitionOf` is
 * that name, so that the definition does not refer to itself.
 */
export function withReferences(schema: TSchema, definitionOf?: string): unknown {
  const plain: unknown = JSON.parse(JSON.stringify(schema));
  return definitionOf === undefined ? referenced(plain) : referencedInside(plain);
}

function referenced(node: unknown): unknown {
  const name = NAME_BY_TEXT.get(JSON.stringify(node));
  return name === undefined ? referencedInside(node) : schemaReference(name);
}

function referencedInside(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(referenced);
  if (node === null || typeof node !== 'object') return node;
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, referenced(value)]));
}
