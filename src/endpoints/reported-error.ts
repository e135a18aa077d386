import { type Fields, isFields, isText } from './fields.ts';

/**
 * The server's words about what went wrong, when an object says that something did (`400: This model's maximum context
 * length is ...`); every dialect does it by a field `error`, a text or an object. Undefined when all is well.
 */
export function reportedError(holder: Fields): string | undefined {
  if (isReal(holder.error)) return errorText(holder);
  return holder.object === 'error' ? errorText({ error: holder }) : undefined;
}

/**
 * Whether a value says that something went wrong. Servers and proxies fill an unused `error` with null, false, 0, an
 * empty string, object or array, or with an object of such values.
 */
function isReal(value: unknown): boolean {
  if (typeof value === 'string') return value.trim() !== '';
  return isFields(value) ? Object.values(value).some(isReal) : Boolean(value);
}

function errorText(holder: Fields): string {
  const { error } = holder;
  if (!isFields(error)) {
    const text = isText(error) ? error : isText(holder.message) ? holder.message : JSON.stringify(holder);
    return clip(text);
  }
  const message = isText(error.message) ? error.message : isText(error.detail) ? error.detail : JSON.stringify(error);
  const code = error.code ?? error.status_code;
  return clip(typeof code === 'number' || isText(code) ? `${code}: ${message}` : message);
}

const clip = (text: string): string => (text.length > 500 ? `${text.slice(0, 500)}...` : text);
