// A stock exporter at work: node stream.mjs TRANSPORT ENDPOINT SERVICE SECONDS SPANS_PER_SECOND
// prints how many spans ended, and what the exporter says became of them.
import { OTLPTraceExporter as Grpc } from "@opentelemetry/exporter-trace-otlp-grpc";
import { OTLPTraceExporter as Http } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";

const [transport, endpoint, service, seconds, rate] = process.argv.slice(2);
const counts = { ended: 0, acknowledged: 0, dropped: 0 };
const exporter =
  transport === "grpc"
    ? new Grpc({ url: `http://${endpoint}` })
    : new Http({ url: `${endpoint}/v1/traces` });
const counting = {
  export(spans, done) {
    exporter.export(spans, (result) => {
      counts[result.code === 0 ? "acknowledged" : "dropped"] += spans.length;
      done(result);
    });
  },
  shutdown: () => exporter.shutdown(),
  forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
};
const provider = new BasicTracerProvider({
  resource: resourceFromAttributes({ "service.name": service }),
  spanProcessors: [new BatchSpanProcessor(counting, { scheduledDelayMillis: 200 })],
});
const tracer = provider.getTracer("exporting");
const started = Date.now();
while (Date.now() - started < seconds * 1000) {
  while (counts.ended < ((Date.now() - started) / 1000) * rate) {
    tracer.startSpan("sent", { attributes: { number: counts.ended } }).end();
    counts.ended += 1;
  }
  await new Promise((resolve) => setTimeout(resolve, 20));
}
await provider.forceFlush().catch(() => {});
await provider.shutdown().catch(() => {});
console.log(JSON.stringify(counts));
