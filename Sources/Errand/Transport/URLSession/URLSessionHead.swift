#if URLSession || canImport(Darwin)
import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension HTTPResponse {
    /// The head of an answer; `nil` if it is none of HTTP's, or tells two lengths.
    init?(_ response: URLResponse) {
        guard let response = response as? HTTPURLResponse, (100...599).contains(response.statusCode) else { return nil }
        // Foundation keeps no order; an order that is always the same is the next best.
        let fields = response.allHeaderFields.compactMap { name, value -> HTTPHeaders.Field? in
            guard let name = name as? String, let value = value as? String else { return nil }
            return HTTPHeaders.Field(name: name, value: value)
        }
        let headers = HTTPHeaders(fields.sorted { $0.name < $1.name })
        // Two lengths have become one field.
        let lengths = (headers["Content-Length"] ?? "").split { $0 == "," || $0 == " " }
        guard Set(lengths).count < 2 else { return nil }
        self.init(status: response.statusCode, headers: headers)
    }
}
#endif
