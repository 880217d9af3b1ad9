extension Pipeline {
    /// Lets layers start transmissions that no call waits for. They belong to the client: its shutdown ends them, and
    /// waits for that.
    ///
    /// The function does not keep the pipeline, which keeps the function.
    func provideBackground(calls: CallsInFlight, events: EventHub, time: any TimeSource) {
        background.provide { [weak self] send, ended in
            guard let self else { return nil }
            // Nobody waits for it until a caller's deadline, and no refresh of a token depends on it.
            return Deadline.$current.withValue(nil) {
                TokenStore.$refreshing.withValue(nil) {
                    let settings = CallSettings(
                        id: calls.nextID(), method: send.request.method, path: send.path,
                        rules: BoxedRules(send.rules), time: time, events: events)
                    return self.start(send, settings, calls, ended)
                }
            }
        }
    }

    private func start(
        _ send: BackgroundSend, _ settings: CallSettings, _ calls: CallsInFlight,
        _ ended: @escaping BackgroundSends.Ended
    ) -> Transmission? {
        let shared = SharedTransmission(Transmission(settings, signedIn: send.session), finishesAlone: true)
        do throws(ServiceError) {
            try calls.begin(shared)
        } catch {
            return nil
        }
        var next = CallContext(shared.transmission)
        (next.hasLeftOrigin, next.isRedirected) = (send.hasLeftOrigin, send.isRedirected)
        shared.start(for: calls) { [next] () async throws(ServiceError) in
            do throws(ServiceError) {
                let pause = send.pause
                if pause > .zero { try await next.transmission.pause(until: next.time.now.advanced(by: pause)) }
                let response =
                    if let layers = send.layers { try await layers(send.request, next) } else {
                        try await self.transmit(send.request, next)
                    }
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
