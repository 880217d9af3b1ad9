#if URLSession || canImport(Darwin)
import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension URLRequest {
    /// Creates the request for Foundation. Fields with the same name are joined, as RFC 9110 allows (5.2).
    init(_ request: HTTPRequest, body: URLSessionBody) throws(ServiceError) {
        guard let url = URL(string: request.url.absoluteString, encodingInvalidCharacters: false) else {
            throw .badURL(request.url.absoluteString, "Foundation cannot parse it")
        }
        guard request.method != .get || body.isEmpty else {
            throw .transport(TransportFailure(.unsupported, "URLSession sends no body with a GET"))
        }
        self.init(url: url)
        httpMethod = request.method.rawValue
        httpBody = body.bytes
        httpShouldHandleCookies = false
        for field in request.headers { addValue(field.value, forHTTPHeaderField: field.name) }
        #if canImport(FoundationNetworking)
        // With this header, a server that refuses is sent the request a second time.
        setValue(nil, forHTTPHeaderField: "Expect")
        #endif
    }
}

extension HTTPResponse {
    /// Creates the head of a response; `nil` if it is not an HTTP response, or has two lengths.
    init?(_ response: URLResponse) {
        guard let response = response as? HTTPURLResponse, (100...599).contains(response.statusCode) else { return nil }
        // Foundation does not keep the order of fields, so they are sorted, to be in the same order every time.
        let fields = response.allHeaderFields.flatMap { name, value -> [HTTPHeaders.Field] in
            guard let name = name as? String, let value = value as? String else { return [] }
            // A carriage return becomes a space (RFC 9112, 2.2).
            let text = String(value.map { $0 == "\r" ? " " : $0 })
            // Foundation has joined them, and there is no other way to them.
            let values = name.equalsIgnoringCase("Set-Cookie") ? SetCookieLines.split(joined: text) : [text]
            return values.map { HTTPHeaders.Field(name: name, value: $0) }
        }
        let headers = HTTPHeaders(fields.sorted { $0.name < $1.name })
        // Foundation joins two lengths into one field.
        let lengths = (headers["Content-Length"] ?? "").split { $0 == "," || $0 == " " }
        guard Set(lengths).count < 2 else { return nil }
        self.init(status: response.statusCode, headers: headers)
    }
}
#endif
