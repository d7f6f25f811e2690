/** The files that a program wrote, as MCP shows them: their addresses, and their content as pictures, texts and links. */
import {
  type ContentBlock,
  type McpServer,
  ResourceNotFoundError,
  ResourceTemplate,
} from '@modelcontextprotocol/server';
import type { ServiceClient } from '@vouchbox/client';
import type { Artifact } from '@vouchbox/protocol';
import { isPicture, mediaTypeOf, textOf } from './media-type.ts';
import { told } from './told-text.ts';

/** The most that all files of one answer bring with them, in bytes; what does not fit is a link. */
const contentBytesMax = 1024 * 1024;
/** A text of more bytes is a link. */
const textBytesMax = 64 * 1024;

/** A file in a tool's answer. */
export interface ListedFile {
  readonly path: string;
  readonly size_bytes: number;
  readonly sha256: string;
  readonly media_type: string;
}

export function listedFiles(artifacts: readonly Artifact[]): ListedFile[] {
  return artifacts.map(({ path, size_bytes, sha256, content_base64 }) => ({
    path,
    size_bytes,
    sha256,
    media_type: mediaTypeOf(path, Buffer.from(content_base64, 'base64')),
  }));
}

/** Pictures as images, short texts as resources, and all else as links to resources. */
export function artifactContent(job_id: string, artifacts: readonly Artifact[]): ContentBlock[] {
  let bytesLeft = contentBytesMax;
  return artifacts.map((artifact) => {
    const bytes = Buffer.from(artifact.content_base64, 'base64');
    const block = bytes.length <= bytesLeft ? shownContent(job_id, artifact, bytes) : null;
    if (block === null) return artifactLink(job_id, artifact, bytes);
    bytesLeft -= bytes.length;
    return block;
  });
}

function shownContent(job_id: string, { path, content_base64 }: Artifact, bytes: Buffer): ContentBlock | null {
  const mimeType = mediaTypeOf(path, bytes);
  if (isPicture(mimeType)) return { type: 'image', data: content_base64, mimeType };
  const text = bytes.length <= textBytesMax ? textOf(bytes) : null;
  return text === null ? null : { type: 'resource', resource: { uri: artifactUri(job_id, path), mimeType, text } };
}

function artifactLink(job_id: string, { path, size_bytes }: Artifact, bytes: Buffer): ContentBlock {
  return {
    type: 'resource_link',
    uri: artifactUri(job_id, path),
    name: told(path),
    mimeType: mediaTypeOf(path, bytes),
    size: size_bytes,
  };
}

/** `svc://jobs/{job_id}/artifacts/{path}`, with the characters of the path that an address may not have escaped. */
export function artifactUri(job_id: string, path: string): string {
  return `svc://jobs/${job_id}/artifacts/${path.split('/').map(encodeURIComponent).join('/')}`;
}

/** Offers every file of every job of the tenant by its address. */
export function addArtifacts(server: McpServer, client: ServiceClient): void {
  const template = new ResourceTemplate('svc://jobs/{job_id}/artifacts/{+path}', { list: undefined });
  const about = { title: 'Output file of a job', description: 'A file that a program wrote below output/.' };
  server.registerResource('artifact', template, about, async (uri, { job_id, path }, { mcpReq }) => {
    const wanted = decodeURIComponent(String(path));
    const { artifacts } = await client.result(String(job_id), { signal: mcpReq.signal });
    const artifact = artifacts.find((one) => one.path === wanted);
    if (artifact === undefined) throw new ResourceNotFoundError(uri.href);
    const bytes = Buffer.from(artifact.content_base64, 'base64');
    const [mimeType, text] = [mediaTypeOf(wanted, bytes), textOf(bytes)];
    const content = text === null ? { blob: artifact.content_base64 } : { text };
    return { contents: [{ uri: uri.href, mimeType, ...content }] };
  });
}
