extension Pipeline {
    /// Lets the cache start transmissions that no call waits for. They belong to the client: its shutdown ends them,
    /// and waits for that.
    ///
    /// The function does not keep the pipeline, which keeps the function.
    func provideBackground(calls: CallsInFlight, events: EventHub) {
        background.provide { [weak self] request, context, pause, ended in
            guard let self else { return nil }
            let settings = context.transmission.settings
            var rules = settings.rules.withoutDeadline
            rules.cache.mode = .refresh
            // Nobody waits for it until a caller's deadline.
            let own = Deadline.$current.withValue(nil) { [rules] in
                CallSettings(
                    id: calls.nextID(), method: request.method, path: settings.path, rules: BoxedRules(rules),
                    time: settings.time, events: events)
            }
            let shared = SharedTransmission(
                Transmission(own, signedIn: context.transmission.session), finishesAlone: true)
            do throws(ServiceError) {
                try calls.begin(shared)
            } catch {
                return nil
            }
            var next = CallContext(shared.transmission)
            (next.hasLeftOrigin, next.isRedirected) = (context.hasLeftOrigin, context.isRedirected)
            shared.start(for: calls) { [next] () async throws(ServiceError) in
                do throws(ServiceError) {
                    if pause > .zero { try await next.transmission.pause(until: next.time.now.advanced(by: pause)) }
                    let response = try await self.transmit(request, next)
                    ended(.success(response))
                    return response
                } catch {
                    ended(.failure(error))
                    throw error
                }
            }
            return shared.transmission
        }
    }
}
