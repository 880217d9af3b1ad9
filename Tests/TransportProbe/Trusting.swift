#if os(Linux)
import Errand

extension CurlTransport {
    /// Creates a transport that trusts the certificates in that file.
    convenience init(trusting file: String, through proxy: Options.Proxy = .environment) {
        var options = Options()
        options.certificateAuthorities = file
        options.proxy = proxy
        self.init(options)
    }
}
#endif
