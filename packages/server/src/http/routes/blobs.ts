/** Operations to upload files that later submissions name, and to read those files. Spec § Endpoints. */
import { BLOB_MEDIA_TYPE } from '@vouchbox/protocol';
import { type Handlers, refuseWhenStopping } from '../call/call.ts';
import { sendJson, sendPieces } from '../call/respond.ts';
import { chunksInTurn, uploadOf } from '../call/upload.ts';
import { Turns } from '../connections/turns.ts';
import { blobDigestOf, uploadDigestOf } from '../request/path-id.ts';
import type { RouteContext } from './context.ts';

export function blobHandlers({ blobs }: Pick<RouteContext, 'blobs'>): Handlers<'putBlob' | 'getBlob'> {
  const turns = new Turns(chunksInTurn);
  return {
    async putBlob(call) {
      refuseWhenStopping(call);
      const sha256 = uploadDigestOf(call.request);
      blobs.checkBudget(call.caller);
      using upload = uploadOf(call, turns);
      const { isKnown, stored } = await blobs.receive(call.caller, { sha256, ...upload });
      return sendJson(call, isKnown ? 200 : 201, stored);
    },
    async getBlob(call) {
      const sha256 = blobDigestOf(call.request);
      call.holdWatched('response');
      const content = await blobs.content(call.caller, sha256);
      return sendPieces(call, 200, { mediaType: BLOB_MEDIA_TYPE, content }, { 'X-Content-Sha256': sha256 });
    },
  };
}
