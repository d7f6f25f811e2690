/** How MCP shows the files that a program wrote: their addresses, and their content as pictures, texts or links. */
import {
  type ContentBlock,
  type McpServer,
  ResourceNotFoundError,
  ResourceTemplate,
} from '@modelcontextprotocol/server';
import type { ServiceClient } from '@vouchbox/client';
import { type Artifact, type ArtifactRecord, type FoldedResult, type Static, Type } from '@vouchbox/protocol';
import { isPicture, mediaTypeOf, textOf } from './media-type.ts';
import { told } from './told-text.ts';

/** The most bytes of all files in one answer. A file that does not fit is shown as a link. */
const contentBytesMax = 1024 * 1024;
/** The most bytes of a text. A longer text is shown as a link. */
const textBytesMax = 64 * 1024;

/** A file in a tool's answer. */
export const ListedFile = Type.Object({
  path: Type.String(),
  size_bytes: Type.Integer(),
  sha256: Type.String(),
  media_type: Type.String(),
});
type ListedFile = Static<typeof ListedFile>;

type Left = Pick<FoldedResult, 'artifacts' | 'large_outputs'>;

export function listedFiles({ artifacts, large_outputs = [] }: Left): ListedFile[] {
  const small = artifacts.map(({ path, size_bytes, sha256, content_base64 }) => ({
    path,
    size_bytes,
    sha256,
    media_type: mediaTypeOf(path, Buffer.from(content_base64, 'base64')),
  }));
  return [...small, ...large_outputs.map((one) => ({ ...one, media_type: mediaTypeOf(one.path, NOTHING) }))];
}

/** Stands for the bytes of a large output, because those are not fetched. */
const NOTHING = Buffer.alloc(0);

/** Shows pictures as images, short texts as resources, and all else, such as large outputs, as links to resources. */
export function artifactContent(job_id: string, { artifacts, large_outputs = [] }: Left): ContentBlock[] {
  let bytesLeft = contentBytesMax;
  const small = artifacts.map((artifact) => {
    const bytes = Buffer.from(artifact.content_base64, 'base64');
    const block = bytes.length <= bytesLeft ? shownContent(job_id, artifact, bytes) : null;
    if (block === null) return artifactLink(job_id, artifact, bytes);
    bytesLeft -= bytes.length;
    return block;
  });
  return [...small, ...large_outputs.map((output) => artifactLink(job_id, output, NOTHING))];
}

function shownContent(job_id: string, { path, content_base64 }: Artifact, bytes: Buffer): ContentBlock | null {
  const mimeType = mediaTypeOf(path, bytes);
  if (isPicture(mimeType)) return { type: 'image', data: content_base64, mimeType };
  const text = bytes.length <= textBytesMax ? textOf(bytes) : null;
  return text === null ? null : { type: 'resource', resource: { uri: artifactUri(job_id, path), mimeType, text } };
}

function artifactLink(job_id: string, { path, size_bytes }: ArtifactRecord, bytes: Buffer): ContentBlock {
  return {
    type: 'resource_link',
    uri: artifactUri(job_id, path),
    name: told(path),
    mimeType: mediaTypeOf(path, bytes),
    size: size_bytes,
  };
}

/** `svc://jobs/{job_id}/artifacts/{path}`. Characters of the path that an address cannot contain are escaped. */
export function artifactUri(job_id: string, path: string): string {
  return `svc://jobs/${job_id}/artifacts/${path.split('/').map(encodeURIComponent).join('/')}`;
}

/** Offers every file of all the tenant's jobs, each by its address. */
export function addArtifacts(server: McpServer, client: ServiceClient): void {
  const template = new ResourceTemplate('svc://jobs/{job_id}/artifacts/{+path}', { list: undefined });
  const about = { title: 'Output file of a job', description: 'A file that a program wrote below output/.' };
  server.registerResource('artifact', template, about, async (uri, { job_id, path }, { mcpReq }) => {
    const wanted = decodeURIComponent(String(path));
    const { signal } = mcpReq;
    const bytes = await bytesOf(client, await client.result(String(job_id), { signal }), wanted, signal);
    if (bytes === null) throw new ResourceNotFoundError(uri.href);
    const [mimeType, text] = [mediaTypeOf(wanted, bytes), textOf(bytes)];
    const content = text === null ? { blob: bytes.toString('base64') } : { text };
    return { contents: [{ uri: uri.href, mimeType, ...content }] };
  });
}

/** The content of the file that a job wrote to a path; null if there is no such file. */
async function bytesOf(
  client: ServiceClient,
  { artifacts, large_outputs = [] }: Left,
  path: string,
  signal: AbortSignal,
): Promise<Buffer | null> {
  const artifact = artifacts.find((one) => one.path === path);
  if (artifact !== undefined) return Buffer.from(artifact.content_base64, 'base64');
  const large = large_outputs.find((one) => one.path === path);
  return large === undefined ? null : Buffer.from((await client.download(`sha256:${large.sha256}`, { signal })).bytes);
}
