export { Client, type StreamOptions } from './client.ts';
export { ApiError, UnreachableError } from './errors.ts';
export { closeConnections, type Target } from './http.ts';
export { plain, plainJson, plainLines } from './plain.ts';
