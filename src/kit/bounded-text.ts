/**
 * The text of an answer, or its beginning: reading stops once it is longer than `most` characters, so that a server that
 * never ends it cannot fill our memory.
 */
export async function boundedText(response: Response, most: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  if (!response.body) return text;
  for await (const chunk of response.body) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.length > most) break;
  }
  return text;
}
