/// The step after a page.
enum PageStep {
    case end
    case on(to: PagePosition.Location)
    /// The page itself is fine, but it names no usable next page; reading resumes at this position all the same.
    case fault(PagingFault.Kind, at: PagePosition.Location)
}

extension Paging {
    /// Returns the endpoint for the page at that position. An error shows no value with one of those names.
    func endpoint(
        for place: PagePosition.Location, of list: Endpoint<Response>, hiding names: SecretNames
    ) throws(ServiceError) -> Endpoint<Response> {
        switch (style, place) {
        case (.number(let name, let first, _), .start): return list.setting(name, to: first)
        case (.number(let name, _, _), .number(let number)): return list.setting(name, to: number)
        case (.text(let name, _), .text(let text)): return list.setting(name, to: text)
        case (.text, .start), (.url, .start): return list
        case (.url, .url(let text)):
            do throws(ServiceError) {
                var endpoint = list
                endpoint.untyped.target = .page(try HTTPURL(text, hiding: Redactor(names)))
                return endpoint
            } catch {
                guard case .invalidRequest(let invalid) = error else { throw error }
                throw .paging(PagingFault(.unreadable, invalid.reason))
            }
        case (.number, _), (.text, _), (.url, _):
            throw .badSetting("the position belongs to another kind of paging")
        }
    }

    /// Returns the step after the page at that position. Positions leave out the parameters with those names.
    func step(
        after reply: Reply<Response>, at place: PagePosition.Location, isEmpty: Bool, hiding names: Set<String>
    ) -> PageStep {
        switch style {
        case .number(_, let first, let isLast):
            let number = if case .number(let number) = place { number } else { first }
            let (before, isTooLow) = number.subtractingReportingOverflow(first)
            let (next, isTooHigh) = number.addingReportingOverflow(1)
            if isEmpty || isTooLow || isTooHigh { return .end }
            guard let isLast = isLast(reply.value, before) else { return .fault(.missingTotal, at: .number(next)) }
            return isLast ? .end : .on(to: .number(next))
        case .text(_, let next):
            guard let text = next(reply.value), !text.isEmpty else { return .end }
            return .on(to: .text(text))
        case .url(let next):
            guard let text = next(reply), !text.isEmpty else { return .end }
            guard let source = reply.source else { return .fault(.otherOrigin, at: place) }
            do throws(ServiceError) {
                return .on(to: .url(try source.resolving(text).removing(names).absoluteString))
            } catch {
                // The request for the page reports what is wrong with the URL.
                return .on(to: .url(text))
            }
        }
    }

    /// Returns the position that other pages use to link to this page, if it can differ from the one that was
    /// requested.
    func name(of reply: Reply<Response>, hiding names: Set<String>) -> PagePosition.Location? {
        guard case .url = style, let source = reply.source else { return nil }
        return .url(source.removing(names).absoluteString)
    }
}

extension Endpoint {
    /// Returns the same call with that parameter, which replaces one with the same name.
    fileprivate func setting(_ name: String, to value: some QueryValue & Encodable) -> Self {
        var endpoint = self
        if case .parameters(var parameters) = body?.content {
            parameters[name] = value
            endpoint.body = RequestBody(content: .parameters(parameters))
        } else {
            endpoint.query.items.removeAll { $0.name == name }
            endpoint.query.add(name, value)
        }
        return endpoint
    }
}
