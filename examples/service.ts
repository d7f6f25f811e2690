/** The service that the examples call: `SERVICE_URL` and `SERVICE_KEY` name it. */
import { createServiceClient } from '@vouchbox/client';

const { SERVICE_URL: baseUrl = 'http://127.0.0.1:8080', SERVICE_KEY: apiKey = 'change-this-key' } = process.env;

export const client = createServiceClient({ baseUrl, apiKey });
