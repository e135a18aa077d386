import { docker } from './docker.ts';
import type { Host } from './host.ts';
import { local } from './local.ts';
import { uv } from './uv.ts';

/** Every host, the default first. To add one: write its file beside this one, then name it here. */
export const hosts: readonly Host[] = [local, uv, docker];
