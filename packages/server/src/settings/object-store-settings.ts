/** The settings for an object store, which must be given together or not at all. */
import { StartError } from '../ground/start-error.ts';
import type { SettingValues } from './settings.ts';

/** Where jobs' large contents are kept, and from which size on. */
export interface ObjectStoreConfig {
  /** `https://HOST/BUCKET` or `https://HOST/BUCKET/PREFIX`, without a slash at its end. */
  readonly url: string;
  readonly region: string;
  readonly accessKey: string;
  readonly secretKey: string;
  /** The size in bytes from which contents are moved to the object store. */
  readonly bytesMin: number;
}

/** The bucket's address, without slashes at its end. Paths are signed as written, so no part of it may need rewriting. */
function bucketUrlOf(text: string): string {
  const url = text.replace(/\/+$/, '');
  const isPlain = URL.canParse(url) && new URL(url).pathname === url.slice(url.indexOf('/', 'https://'.length));
  if (isPlain && !url.slice('https://'.length).includes('//')) return url;
  throw new StartError('SERVICE_OBJECT_STORE_URL does not take this value: it takes the address of a bucket', {
    hint: 'give https://HOST/BUCKET or https://HOST/BUCKET/PREFIX',
  });
}

/** The object store in the settings; null if none is set. @throws StartError if the settings are not complete */
export function objectStoreOf(values: SettingValues): ObjectStoreConfig | null {
  const url = values.SERVICE_OBJECT_STORE_URL;
  const accessKey = values.SERVICE_OBJECT_STORE_ACCESS_KEY;
  const secretKey = values.SERVICE_OBJECT_STORE_SECRET_KEY;
  if (url === undefined && accessKey === undefined && secretKey === undefined) return null;
  if (url === undefined || accessKey === undefined || secretKey === undefined) {
    const missing = url === undefined ? 'URL' : accessKey === undefined ? 'ACCESS_KEY' : 'SECRET_KEY';
    throw new StartError(`SERVICE_OBJECT_STORE_${missing} is not set, and an object store cannot be used without it`, {
      hint: 'set SERVICE_OBJECT_STORE_URL, SERVICE_OBJECT_STORE_ACCESS_KEY and SERVICE_OBJECT_STORE_SECRET_KEY, or none of them',
    });
  }
  return {
    url: bucketUrlOf(url),
    region: values.SERVICE_OBJECT_STORE_REGION,
    accessKey,
    secretKey,
    bytesMin: values.SERVICE_OBJECT_STORE_MIN_KB * 1024,
  };
}
