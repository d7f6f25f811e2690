/** The schemas that the OpenAPI document names, and the code that replaces each use of such a schema by a reference. */

import { StoredBlob } from './blob.ts';
import { ErrorEnvelope } from './error-envelope.ts';
import { EffectiveLimitsSchema, JobEvent, ReplayPage, Violation } from './events.ts';
import { DsseEnvelope, PendingStatement, PendingStatements, ResultArtifact } from './evidence.ts';
import {
  GradingAnswer,
  GradingCancellation,
  GradingDetail,
  GradingEvent,
  GradingEvents,
  GradingItem,
  GradingList,
  GradingProgram,
  GradingSubmission,
  GradingTest,
  ProgramState,
  ProgramVerdict,
} from './gradings.ts';
import {
  Artifact,
  AttestationMember,
  AwaitedSubmission,
  CancellationAnswer,
  EffectiveSpec,
  EndFrame,
  EndingPage,
  FoldedResult,
  JobDetail,
  JobList,
  JobListItem,
  StreamTicket,
} from './job.ts';
import { Link, LinkedJob, LinkList, LinkRequest, LinkRevocation, NewLink } from './links.ts';
import {
  AnyReceipt,
  EventChain,
  ExecutorOutput,
  LimitEnforcementSchema,
  OutputEvidence,
  StreamTelemetry,
} from './receipt.ts';
import {
  Capabilities,
  Health,
  PackLibrary,
  PublicKey,
  Readiness,
  RuntimePack,
  ServiceStatus,
  Whoami,
} from './service.ts';
import { Session, SessionList, SessionRemoval, SessionStep } from './sessions.ts';
import {
  HeldFile,
  InputFile,
  Interaction,
  Interactor,
  JobSubmission,
  Libraries,
  LimitsInput,
  OutputFile,
  OutputName,
  RequestedLimitsSchema,
  ResolvedOutput,
  StoredSpec,
  UploadedFile,
} from './submission.ts';
import {
  AnswerRefused,
  StreamedToolAnswer,
  Tool,
  ToolAnswer,
  ToolAnswerTaken,
  ToolCalls,
  ToolLimitsSchema,
} from './tools.ts';
import type { TSchema } from './type.ts';

export const COMPONENT_SCHEMAS = {
  JobSubmission,
  Interactor,
  Interaction,
  InputFile,
  UploadedFile,
  OutputFile,
  OutputName,
  ResolvedOutput,
  HeldFile,
  LimitsInput,
  StoredBlob,
  Tool,
  ToolCalls,
  ToolAnswer,
  ToolAnswerTaken,
  StreamedToolAnswer,
  AnswerRefused,
  ToolLimits: ToolLimitsSchema,
  GradingSubmission,
  GradingProgram,
  GradingTest,
  GradingAnswer,
  GradingItem,
  GradingList,
  Session,
  SessionList,
  SessionRemoval,
  SessionStep,
  Libraries,
  GradingDetail,
  GradingCancellation,
  ProgramState,
  ProgramVerdict,
  GradingEvent,
  GradingEvents,
  LinkRequest,
  Link,
  NewLink,
  LinkList,
  LinkRevocation,
  LinkedJob,
  SubmissionAnswer: AwaitedSubmission,
  JobDetail,
  CancellationAnswer,
  JobListItem,
  JobList,
  StoredSpec,
  RequestedLimits: RequestedLimitsSchema,
  EffectiveSpec,
  EffectiveLimits: EffectiveLimitsSchema,
  LimitEnforcement: LimitEnforcementSchema,
  AttestationMember,
  Receipt: AnyReceipt,
  EventChain,
  OutputEvidence,
  ExecutorOutput,
  StreamTelemetry,
  FoldedResult,
  Artifact,
  Violation,
  JobEvent,
  ReplayPage,
  EndingPage,
  StreamTicket,
  EndFrame,
  DsseEnvelope,
  PendingStatement,
  PendingStatements,
  ResultArtifact,
  PublicKey,
  Capabilities,
  RuntimePack,
  PackLibrary,
  Whoami,
  ServiceStatus,
  Health,
  Readiness,
  ErrorEnvelope,
} satisfies Record<string, TSchema>;

/** Schemas are recognised by their JSON text, not by identity: an optional schema is a copy. */
const NAME_BY_TEXT = new Map(Object.entries(COMPONENT_SCHEMAS).map(([name, schema]) => [JSON.stringify(schema), name]));

export function schemaReference(name: string): { $ref: string } {
  return { $ref: `#/components/schemas/${name}` };
}

/**
 * A schema as plain JSON, with named schemas inside it as references. `definitionOf` is the name whose definition is
 * being written; a definition must not refer to itself.
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
