/** For tests: makes separate schemas on the test run's server. Each can hold a store. */
import { randomUUID } from 'node:crypto';
import { Session } from './connection.ts';

const NAME = /search_path%3D(\w+)/;

/** Makes a schema and returns the URL whose sessions use it. */
export async function newSchema(server: string): Promise<string> {
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await onServer(server, `create schema ${name}`);
  return `${server}?options=-c%20search_path%3D${name}`;
}

/** Removes a schema with everything in it. */
export async function dropSchema(url: string): Promise<void> {
  await onServer(url, `drop schema ${NAME.exec(url)?.[1]} cascade`);
}

async function onServer(url: string, sql: string): Promise<void> {
  await using session = await Session.open(url, {});
  await session.execute({ sql, parameters: [] });
}
