import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { BodySpec } from '../../contract/routes/route.ts';
import { Refusal } from '../refusal.ts';
import { decodeText, parseJson } from './json.ts';

const YAML_TYPES = ['application/yaml', 'application/x-yaml', 'text/yaml', 'text/x-yaml'];

/**
 * What a group of routes takes as a body. JSON is read strictly; flow files stay text, in which problems have a line; both
 * refuse every other Content-Type. Bytes stay a stream, whatever they are called: also by what is no Content-Type at all.
 */
export function readBodies(scope: FastifyInstance, kind: BodySpec['kind']): void {
  scope.removeAllContentTypeParsers();
  if (kind === 'bytes') {
    scope.addHook('onRequest', (request, _reply, done) => {
      request.headers = { 'content-type': 'application/octet-stream' };
      done();
    });
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
    return;
  }
  const types = kind === 'flow' ? ['application/json', ...YAML_TYPES] : ['application/json'];
  scope.addContentTypeParser(types, { parseAs: 'buffer' }, async (request: FastifyRequest, bytes: Buffer) => {
    const text = textOf(request, bytes);
    if (kind === 'flow') return text;
    return text === '' ? undefined : parseJson(text);
  });
}

function textOf({ headers }: FastifyRequest, bytes: Buffer): string {
  const charset = /;\s*charset\s*=\s*"?([^\s";]*)/i.exec(headers['content-type'] ?? '')?.[1] ?? 'utf-8';
  if (!/^(utf-?8|us-ascii)$/i.test(charset))
    throw new Refusal('UNSUPPORTED_MEDIA_TYPE', 'The body must be UTF-8: send it without another charset.');
  return decodeText(bytes);
}

/** Compressed bodies are not taken: what they grow to could not be bounded before it is there. */
export function refuseEncoded({ headers }: FastifyRequest): void {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity')
    throw new Refusal(
      'UNSUPPORTED_MEDIA_TYPE',
      'Compressed bodies are not taken: send the body without Content-Encoding.',
    );
}
