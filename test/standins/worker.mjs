// A process that an engine starts beside itself, as vLLM's EngineCore or SGLang's scheduler. `loyal` ends with its
// parent, as they mostly do; `left` stays, deaf to SIGTERM, as they do when the API server is killed.
const [manner] = process.argv.slice(2);
if (manner === 'left') process.on('SIGTERM', () => {});
else process.on('disconnect', () => process.exit());
setInterval(() => {}, 1e6);
