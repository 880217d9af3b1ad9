#if URLSession || canImport(Darwin)
import Foundation
#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension URLRequest {
    /// Creates the request for Foundation. Fields with the same name are joined, as RFC 9110 allows (5.2).
    init(_ request: HTTPRequest, body: URLSessionBody) throws(ServiceError) {
        guard let url = URL(string: request.url.absoluteString, encodingInvalidCharacters: false) else {
            throw .badURL(request.url.absoluteString, "Foundation does not read it")
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
#endif
