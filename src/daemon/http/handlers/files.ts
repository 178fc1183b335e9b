import type { Readable } from 'node:stream';
import { organizationFor } from '../../auth/caller.ts';
import type { Handlers, Services } from '../handler.ts';
import { unknownId } from '../ids.ts';

const CONTENT_TYPE = /^[\w.+-]{1,100}\/[\w.+-]{1,100}(; ?[\w-]+="?[\w.+-]+"?){0,3}$/;

export function fileHandlers({ stores }: Services): Handlers<'uploadFile' | 'downloadFile'> {
  const { uploads, organizations } = stores;
  return {
    async uploadFile({ caller, query, body, request, reply }) {
      const organizationId = organizationFor(caller, query.organizationId, organizations);
      const sent = request.raw.headers['content-type'] ?? '';
      const contentType = CONTENT_TYPE.test(sent) ? sent : 'application/octet-stream';
      const file = await uploads.save(body, { organizationId, name: query.name ?? 'file', contentType }, Date.now());
      void reply.code(201).header('Location', `/process/files/${file.fileId}`);
      const { organizationId: _, ...reference } = file;
      return reference;
    },

    /** Always a download, never shown: an uploaded page must not run in the daemon's origin. */
    async downloadFile({ caller, params: { fileId }, reply }): Promise<Readable> {
      const file = uploads.find(fileId, caller.organizationId);
      if (file === undefined) throw unknownId('fileId', fileId);
      const content = await uploads.content(file);
      void reply
        .type(file.contentType)
        .header('Content-Length', file.size)
        .header('Content-Disposition', disposition(file.name))
        .header('Content-Security-Policy', "default-src 'none'; sandbox")
        .header('Cache-Control', 'private, no-store');
      return content;
    },
  };
}

/** RFC 6266: plain ASCII for old readers, the true name as escaped UTF-8. Neither can end the header. */
function disposition(name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const escaped = encodeURIComponent(Buffer.from(name, 'utf8').toString('utf8')).replace(/['()*]/g, (character) => {
    return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
  });
  return `attachment; filename="${plain}"; filename*=UTF-8''${escaped}`;
}
